#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs every test and counts the cases.

    tests/run.py [--only GROUP]... [-k PATTERN] [-j N] [--long] [--list] [-v]

Groups, in this order:
    release   unit, kernel and stress programs, optimised as users get them        build/release
    asan      the same under address and undefined-behaviour sanitizers            build/asan
    fuzz      every fuzz target over its corpus and mutations of it, same build    build/asan
    tsan      unit and stress programs under the thread sanitizer                  build/tsan
    cli       tests/cli with pytest, on the command of build/release
    python    tests/python with pytest, on the Python package: the extension of build/release, staged in build/package
    arm       only if asked for: kernel and unit programs and the digests of whole pipelines, built for 64-bit ARM and run by
              qemu, and the wheel for ARM; skipped where compiler, emulator or libraries cannot be had          build/arm
    frameworks  only if asked for: tests/frameworks with real TensorFlow, Keras, torch, JAX and Ray (scripts/frameworks), and tests/tutorials
    long      only with --long: tests/long, programs marked long, the unit and kernel programs on plain C kernels,
              many more mutations, tests/cli on the sanitized command, tests/python on the sanitized extension

How the cases of a program are counted is in tests/programs.py. A C test carries its marks in a comment line among its first 30:

    /* leat-test: long no-sanitize no-asan no-tsan timeout=600 */

The last line is `N passed, N failed`, with `, N skipped` if there are any; the exit code is 1 if any failed or
nothing ran. On a terminal a line that changes shows the group, how far it is, what runs now, and the time since the start.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from programs import BUILD, ENV, PYTHON, ROOT, Program, Tally, ending, execute, progress, run_programs, tool
from progress import Cases

GROUPS = ("release", "asan", "fuzz", "tsan", "cli", "python", "arm", "frameworks", "long")
IF_ASKED = ("arm", "frameworks")
SYSROOT = BUILD / "arm-sysroot"
FLAVOURS = {
    "release": [],
    # One step less of optimising takes half the time to build and hardly longer to run.
    "asan": ["-Doptimization=1", "-Ddebug=true", "-Dc_args=-g1", "-Db_sanitize=address,undefined"],
    "tsan": ["-Doptimization=1", "-Ddebug=true", "-Dc_args=-g1", "-Db_sanitize=thread"],
    "arm": ["--cross-file", str(SYSROOT / "root.ini"), "--cross-file", str(ROOT / "scripts/aarch64.ini"),
            "-Dexamples=false"],
}
EMULATOR = {"arm": [tool("qemu-aarch64"), "-L", str(SYSROOT)]}
# Of tests/cli/test_digests.py: with vector kernels and with plain C. The rest is about x86.
ARM_DIGESTS = "list_is_complete or practice or as_it_is or leat_0"
ARM_WHEEL = "for_arm"  # of tests/long/test_wheel.py, which the group `long` leaves to the group `arm`
SLOWER = {"release": 1, "asan": 4, "tsan": 10, "arm": 10}  # how much longer a program may take
FUZZ_RUNS, FUZZ_RUNS_LONG = 10_000, 20_000  # inputs for each fuzz target
LONG_SHARES = ("ray", "examples", "tutorials", "launchers", "keras", "torch", "dropin", "doctor")  # of the tests with frameworks
PYTEST_SECONDS = BUILD_SECONDS = 1800


# -------------------------------------------------------------------------------------------- building


built: dict[str, str] = {}  # flavour -> "" or why it could not be built


def build(flavour: str, jobs: int, targets: tuple[str, ...]) -> str:
    """Configures if needed and builds; returns "" or what went wrong."""
    key = flavour + " " + " ".join(targets)
    if key not in built:
        folder = BUILD / flavour
        built[key] = ""
        rules = folder / "build.ninja"
        # A folder that was configured before the tests' packages were there knows no tests: begin anew.
        stale = rules.exists() and "tests/test_" not in rules.read_text()
        if stale or not rules.exists():
            done = subprocess.run([tool("meson"), "setup", *(["--wipe"] if stale else []), str(folder), *FLAVOURS[flavour]],
                                  cwd=ROOT, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode != 0:
                built[key] = f"--- {flavour}: meson setup failed\n{done.stdout}{done.stderr}"
                return built[key]
        progress.begin(f"building build/{flavour}")

        def seen(line: str) -> None:
            if match := re.match(r"\[(\d+)/(\d+)\] (.*)", line):
                progress.update(int(match[1]), int(match[2]), match[3].rsplit("/", 1)[-1])

        code, output = execute([ENV["NINJA"], "-C", str(folder), f"-j{jobs}", *targets], BUILD_SECONDS, ENV, ROOT, seen)
        if code != 0:
            lines = [line for line in output.splitlines() if not re.match(r"\[\d+/\d+\] (?!.*FAILED)", line)]
            built[key] = f"--- {flavour}: the build {ending(code, BUILD_SECONDS)}\n" + "\n".join(lines)
    return built[key]


def marks_of(source: Path) -> set[str]:
    if not source.exists():
        return set()
    head = source.read_text(errors="replace").split("\n")[:30]
    found = re.search(r"leat-test:([^*\n]*)", "\n".join(head))
    return set(found[1].split()) if found else set()


def unsuitable(flavour: str) -> set[str]:
    """The marks of programs that are not run in this build."""
    return {"no-" + flavour} | ({"no-sanitize"} if flavour in ("asan", "tsan") else set())


def limit(marks: set[str], seconds: float) -> float:
    return next((float(mark[8:]) for mark in marks if mark.startswith("timeout=")), seconds)


def programs_of(flavour: str, suites: tuple[str, ...], pattern: str) -> list[Program]:
    text = subprocess.run([tool("meson"), "introspect", "--tests", str(BUILD / flavour)], capture_output=True,
                          text=True, check=True, env=ENV).stdout
    programs = []
    for test in json.loads(text):
        suite = test["suite"][0].split(":")[-1]
        name = f"{suite}/{test['name']}"
        if suite not in suites or not re.search(pattern, name):
            continue
        marks = marks_of(ROOT / "tests" / suite / (test["name"] + ".c"))
        if suite == "long":
            marks.add("long")
        if marks & unsuitable(flavour):
            continue
        seconds = limit(marks, test["timeout"]) * SLOWER[flavour]
        command = EMULATOR.get(flavour, []) + tsan_safe(flavour, test["cmd"])
        programs.append(Program(name, flavour, command, seconds, marks, test["env"]))
    return programs


def tsan_safe(flavour: str, command: list[str]) -> list[str]:
    """Older thread sanitizers die at start where the kernel spreads addresses over more than 28 bits."""
    if flavour != "tsan":
        return command
    try:
        bits = int(Path("/proc/sys/vm/mmap_rnd_bits").read_text())
    except (OSError, ValueError):
        bits = 28
    return [tool("setarch"), os.uname().machine, "-R", *command] if bits > 28 else command


# ---------------------------------------------------------------------------------------------- groups


def fuzz_targets(pattern: str) -> list[Path]:
    return [path for path in sorted((ROOT / "tests/fuzz").glob("fuzz_*.c")) if re.search(pattern, "fuzz/" + path.stem)]


def fuzz_programs(runs: int, seed: int, pattern: str) -> list[Program]:
    programs = []
    for source in fuzz_targets(pattern):
        corpus = ROOT / "tests/fuzz/corpus" / source.stem.removeprefix("fuzz_")
        n_files = sum(path.is_file() for path in corpus.rglob("*")) if corpus.is_dir() else 0
        command = [str(BUILD / "asan/tests" / source.stem), "--mutate", str(max(runs // max(n_files, 1), 20)), str(seed)]
        command += [str(corpus)] if n_files else []
        programs.append(Program("fuzz/" + source.stem, "asan", command, 120 + runs * 0.02, set(), single=True))
    return programs


def run_pytest(path: Path | list[Path], flavour: str, options: argparse.Namespace, python: str = PYTHON, name: str = "",
               env: dict[str, str] | None = None, processes: int = 1) -> Tally:
    """A folder or files of tests, in one process or in several."""
    tally = Tally()
    paths = path if isinstance(path, list) else [path]
    name = name or paths[0].name
    report = BUILD / flavour / f"pytest-{name.replace(' ', '-')}.xml"
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", *map(str, paths), "-v" if progress.shown else "-q", "--tb=long", "-p", "no:cacheprovider", "-o",
               "junit_family=xunit1", f"--junitxml={report}"]
    if processes > 1:
        command += ["-n", str(processes)]
    if options.k:
        command += ["-k", options.k]
    env = {**ENV, "LEAT": str(BUILD / flavour / "cli/leat"), "LEAT_BUILD": str(BUILD / flavour), **(env or {})}
    begin = time.monotonic()
    progress.begin(name)
    code, output = execute(command, PYTEST_SECONDS, env, ROOT, Cases(progress).seen)
    if code == 5 and options.k:  # pytest's word for "nothing to run"
        return tally
    if report.exists():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            n, bad, skipped = (int(suite.get(key, 0)) for key in ("tests", "failures", "skipped"))
            bad += int(suite.get("errors", 0))
            tally.add(Tally(passed=n - bad - skipped, failed=bad, skipped=skipped))
            tally.reasons += [f"{name}: {case.get('name')}: {reason.get('message')}"
                              for case in suite.iter("testcase") for reason in case.iter("skipped")]
    if code != 0:
        tally.failed = max(tally.failed, 1)
        tally.reports.append(f"--- {flavour} {paths[0].relative_to(ROOT)} {name}: pytest {ending(code, PYTEST_SECONDS)}\n"
                             f"{output}")
    if options.v:
        progress.say(f"    {flavour} {name}: {tally}, {time.monotonic() - begin:.1f} s")
    return tally


def stage_package(flavour: str) -> str:
    """The Python package as it would be installed, of links: its folder, or "" if it could not be built."""
    extension = BUILD / flavour / "python/_leat.abi3.so"
    folder = BUILD / ("package" if flavour == "release" else f"package-{flavour}") / "leat"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: path for path in (ROOT / "python/leat").iterdir()
              if path.is_file() or (path / "__init__.py").exists()}
    wanted[extension.name] = extension
    for link in folder.iterdir():
        if link.is_symlink() and link.name not in wanted:
            link.unlink()
    for name, path in wanted.items():
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(path)
    return str(folder.parent) if extension.exists() else ""


def build_package(options: argparse.Namespace, flavour: str = "release") -> tuple[str, str]:
    """The folder of the package, or "" and what is wrong."""
    trouble = build(flavour, options.j, ("product",))
    if not trouble:
        subprocess.run([tool("meson"), "configure", str(BUILD / flavour), "-Dpython=true"], cwd=ROOT, env=ENV,
                       stdin=subprocess.DEVNULL, capture_output=True, check=True)
        built.pop(f"{flavour} product")
        trouble = build(flavour, options.j, ("product",))
    package = stage_package(flavour) if not trouble else ""
    return package, trouble or ("" if package else "--- python: the extension was not built")


def group_python(options: argparse.Namespace) -> Tally:
    tally = Tally()
    if not has_pytests(ROOT / "tests/python"):
        return tally
    package, trouble = build_package(options)
    if trouble:
        tally.fail(trouble)
        return tally
    return run_pytest(ROOT / "tests/python", "release", options, env={"PYTHONPATH": package}, processes=options.j)


def python_sanitized(options: argparse.Namespace) -> Tally:
    """The binding, with sanitizers loaded before an interpreter that knows nothing of them: its own leaks do not count."""
    tally = Tally()
    package, trouble = build_package(options, "asan")
    if trouble:
        tally.fail(trouble)
        return tally
    libraries = [subprocess.run(["gcc", f"-print-file-name={name}.so"], capture_output=True, text=True,
                                check=True).stdout.strip() for name in ("libasan", "libubsan")]
    env = {"PYTHONPATH": package, "LD_PRELOAD": " ".join(libraries), "PYTHONMALLOC": "malloc",
           "ASAN_OPTIONS": ENV["ASAN_OPTIONS"].replace("detect_leaks=1", "detect_leaks=0")}
    for name in ("test_iterate.py", "test_memory.py", "test_sources.py", "test_life.py", "test_map.py"):
        tally.add(run_pytest(ROOT / "tests/python" / name, "asan", options, env=env))
    return tally


def group_frameworks(options: argparse.Namespace) -> Tally:
    """Processes that share what they import; Keras once for each of its backends."""
    tally = Tally()
    shares = framework_shares()
    if not shares:
        return tally
    package, trouble = build_package(options)
    if trouble:
        tally.fail(trouble)
        return tally
    found = subprocess.run([str(ROOT / "scripts/frameworks")], cwd=ROOT, env=ENV, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, text=True)
    if found.returncode == 3:
        tally.skipped = len(shares)
        tally.reasons.append("frameworks: no package index can be reached")
        return tally
    if found.returncode != 0:
        tally.fail(f"--- frameworks: scripts/frameworks ended with exit code {found.returncode}")
        return tally
    python = found.stdout.strip()
    base = {"PYTHONPATH": package, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2", "JAX_PLATFORMS": "cpu"}

    def one(share: tuple[str, str, list[Path]]) -> Tally:
        word, backend, paths = share
        env = {**base, "KERAS_BACKEND": backend} if backend else base
        return run_pytest(paths, "release", options, python, f"{word} {backend}".rstrip(), env)

    with ThreadPoolExecutor(max(1, min(options.j, 2))) as pool:
        for part in pool.map(one, shares):
            tally.add(part)
    return tally


def framework_shares() -> list[tuple[str, str, list[Path]]]:
    """What runs in one process: the first word of the files' names, for Keras the backend, and the files. To import a framework
    takes five seconds, so all files with one first word share it. Long ones come first, so that none runs alone at the end."""
    words: dict[str, list[Path]] = {}
    for folder in ("tests/frameworks", "tests/tutorials"):
        for path in sorted((ROOT / folder).glob("test_*.py")):
            words.setdefault(path.stem.split("_")[1], []).append(path)
    first = [word for word in LONG_SHARES if word in words]
    return [(word, backend, words[word]) for word in first + [word for word in words if word not in first]
            for backend in (("tensorflow", "jax", "torch") if word == "keras" else ("",))]


def has_pytests(folder: Path) -> bool:
    return folder.is_dir() and any(folder.rglob("test_*.py"))


def c_tests(*suites: str) -> list[Path]:
    return [path for suite in suites for path in sorted((ROOT / "tests" / suite).glob("*.c"))
            if suite != "unit" or path.name.startswith("test_")]


def run_suites(flavour: str, suites: tuple[str, ...], options: argparse.Namespace) -> Tally:
    tally = Tally()
    if not c_tests(*suites):
        return tally
    if trouble := build(flavour, options.j, ("all", "check") if flavour == "release" else ("check",)):
        tally.fail(trouble)
        return tally
    programs = programs_of(flavour, suites, options.k)
    wanted = [f"{path.parent.name}/{path.stem}" for path in c_tests(*suites) if path.parent.name != "kernel"]
    known = {program.name for program in programs_of(flavour, suites, "")} if not options.k else set(wanted)
    for name in wanted:
        marks = marks_of(ROOT / "tests" / (name + ".c"))
        if name not in known and not marks & unsuitable(flavour):
            tally.fail(f"--- {flavour} {name}: is not built (cmocka missing, or make generate needed)")
    tally.add(run_programs([program for program in programs if "long" not in program.marks], options.j, options.v))
    return tally


def group_release(options: argparse.Namespace) -> Tally:
    return run_suites("release", ("unit", "kernel", "stress"), options)


def group_asan(options: argparse.Namespace) -> Tally:
    return run_suites("asan", ("unit", "kernel", "stress"), options)


def group_tsan(options: argparse.Namespace) -> Tally:
    return run_suites("tsan", ("unit", "stress"), options)


def group_fuzz(options: argparse.Namespace, runs: int = FUZZ_RUNS, seed: int = 1) -> Tally:
    tally = Tally()
    programs = fuzz_programs(runs, seed, options.k)
    if not programs:
        return tally
    if trouble := build("asan", options.j, ("check",)):
        tally.fail(trouble)
        return tally
    return run_programs(programs, options.j, options.v)


def group_cli(options: argparse.Namespace, flavour: str = "release") -> Tally:
    tally = Tally()
    folder = ROOT / "tests/cli"
    if not has_pytests(folder):
        return tally
    if trouble := build(flavour, options.j, ("all",)):
        tally.fail(trouble)
        return tally
    # Of the sanitized command, what pages say and what make demo builds would tell nothing new.
    files = sorted(path for path in folder.glob("test_*.py")
                   if flavour == "release" or path.stem not in ("test_demo", "test_docs"))
    return run_pytest(files, flavour, options, name="cli", processes=options.j + 1)  # some wait for a server


def group_arm(options: argparse.Namespace) -> Tally:
    tally = Tally()
    for script in (["scripts/install-deps", "build", "test", "arm"], ["scripts/arm-sysroot"]):
        done = subprocess.run(script, cwd=ROOT, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip().splitlines()
            return Tally(skipped=1, reasons=[f"arm: {script[0]} failed: {said[-1] if said else 'it does not say why'}"])
    if trouble := build("arm", options.j, ("all", "check")):
        tally.fail(trouble)
        return tally
    tally.add(run_suites("arm", ("unit", "kernel"), options))
    command = BUILD / "arm/leat-emulated"
    command.write_text("#!/bin/sh\nexec " + " ".join(EMULATOR["arm"]) + f" {BUILD}/arm/cli/leat \"$@\"\n")
    command.chmod(0o755)
    tally.add(run_pytest(ROOT / "tests/cli/test_digests.py", "arm", chosen(options, ARM_DIGESTS), name="digests",
                         env={"LEAT": str(command)}, processes=options.j))
    tally.add(run_pytest(ROOT / "tests/long/test_wheel.py", "arm", chosen(options, ARM_WHEEL), name="wheel"))
    return tally


def chosen(options: argparse.Namespace, cases: str) -> argparse.Namespace:
    """The options, but of pytest's cases only these."""
    return argparse.Namespace(**{**vars(options), "k": f"({options.k}) and ({cases})" if options.k else cases})


def group_long(options: argparse.Namespace) -> Tally:
    tally = Tally()
    suites = ("unit", "kernel", "stress", "long")
    for flavour in ("release", "asan"):
        if not c_tests(*suites):
            break
        if trouble := build(flavour, options.j, ("all", "check") if flavour == "release" else ("check",)):
            tally.fail(trouble)
            continue
        programs = programs_of(flavour, suites, options.k)
        tally.add(run_programs([program for program in programs if "long" in program.marks], options.j, options.v))
        if flavour == "release":
            plain = [program for program in programs
                     if program.name.startswith(("unit/", "kernel/")) and "no-plain" not in program.marks]
            for program in plain:
                program.env = {**program.env, "LEAT_CPU_MASK": "0"}
                program.name += " LEAT_CPU_MASK=0"
            tally.add(run_programs([program for program in plain if "long" not in program.marks], options.j, options.v))
    tally.add(group_fuzz(options, FUZZ_RUNS_LONG, seed=2))
    tally.add(group_cli(options, "asan"))
    tally.add(python_sanitized(options))
    if has_pytests(ROOT / "tests/long") and not (trouble := build("release", options.j, ("all",))):
        table = BUILD / "release/doctor_truth.md"  # whether the doctor was right, row by row
        table.unlink(missing_ok=True)
        tally.add(run_pytest(ROOT / "tests/long", "release", chosen(options, f"not {ARM_WHEEL}")))
        if table.exists():
            progress.say(table.read_text().rstrip())
    return tally


def listing(groups: list[str], pattern: str) -> list[str]:
    """What would run, from the sources alone."""
    suites = {"release": ("unit", "kernel", "stress"), "asan": ("unit", "kernel", "stress"), "tsan": ("unit", "stress"),
              "arm": ("unit", "kernel"), "long": ("unit", "kernel", "stress", "long")}
    lines = []
    for group in groups:
        for path in c_tests(*suites.get(group, ())):
            marks = marks_of(path) | ({"long"} if path.parent.name == "long" else set())
            runs = group == "long" and ("long" in marks or path.parent.name in ("unit", "kernel"))
            runs = runs or group != "long" and "long" not in marks and not marks & unsuitable(group)
            if runs:
                lines.append(f"{group} {path.parent.name}/{path.stem}")
        if group in ("fuzz", "long"):
            lines += [f"{group} fuzz/{path.stem}" for path in fuzz_targets(pattern)]
        if group in ("cli", "long") and has_pytests(ROOT / "tests/cli"):
            lines.append(f"{group} tests/cli")
        if group == "python" and has_pytests(ROOT / "tests/python"):
            lines.append("python tests/python")
        if group == "arm":
            lines += ["arm tests/cli/test_digests.py", "arm tests/long/test_wheel.py"]
        if group == "frameworks":
            lines += [f"{group} {path.stem} {backend}".rstrip() for _, backend, paths in framework_shares() for path in paths]
        if group == "long" and has_pytests(ROOT / "tests/long"):
            lines.append(f"{group} tests/long")
    return [line for line in lines if re.search(pattern, line)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/run.py", description="Builds and runs every test and counts the cases.")
    parser.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP",
                        help="one of " + ", ".join(GROUPS) + "; may be repeated")
    parser.add_argument("--long", action="store_true", help="the group `long` too")
    parser.add_argument("-k", default="", metavar="PATTERN", help="only programs suite/name, or pytest cases, that match")
    parser.add_argument("-j", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="programs at a time")
    parser.add_argument("--list", action="store_true", help="says what would run")
    parser.add_argument("-v", action="store_true", help="a line for each program")
    options = parser.parse_args()
    # A shell ignores Ctrl-C for what it puts into the background, and the tests of Ctrl-C would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    groups = [group for group in GROUPS if group in (options.only or GROUPS)]
    if not options.long and "long" not in (options.only or ()):
        groups.remove("long") if "long" in groups else None
    groups = [group for group in groups if group not in IF_ASKED or group in (options.only or ())]
    if options.list:
        print("\n".join(listing(groups, options.k)))
        return 0
    if os.environ.get("MAKEFLAGS"):  # make's job server is not ours to use
        ENV.pop("MAKEFLAGS", None)
        ENV.pop("MFLAGS", None)

    total = Tally()
    for i, group in enumerate(groups, 1):
        begin = time.monotonic()
        progress.begin("", group=f"{group} ({i} of {len(groups)} groups)")
        tally = globals()["group_" + group](options)
        progress.say(f"{group:8} {time.monotonic() - begin:6.1f} s  {tally}")
        for reason in tally.reasons:
            progress.say(f"    skipped: {reason}")
        for report in tally.reports:
            progress.say(report)
        total.add(tally)
    progress.end()
    ran = total.passed + total.failed + total.skipped > 0
    if not ran:
        print("nothing ran")
    print(total)
    return 1 if total.failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
