#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that a machine can check (`make style`).

  - rooms include only what lies below them (ROOMS);
  - a line of code knows its room by what it touches (TOUCHES);
  - operations and sources are recognised by flags, not by names or functions (RECOGNISED);
  - every file has a name of its own, an SPDX line, a bounded length, no unfinished business;
  - every header compiles alone, the public ones also as C++;
  - the built library defines leat_* only and exports exactly what the public headers declare;
  - every file is in a list of a meson.build, and formatted;
  - what is generated is fresh, as far as the command of build/release knows (GENERATED).

Prints one line a problem and exits 1 if there is any. Warnings do not count.
"""
import fnmatch
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
import sources

ROOT = Path(__file__).resolve().parent.parent
LINES_MAX, LINES_WARN = 800, 600
API_MAX = 40
CLANG_FORMAT = "14"  # what .clang-format was made for: other versions break lines elsewhere

# room -> rooms it may include, besides itself and the public headers; none may reach back to where it came from
MIDDLE = {"format", "order", "source", "decode", "image", "cache"}
ROOMS = {
    "base": set(),
    "format": {"base"},
    "order": {"base"},
    "source": {"base", "format"},
    "decode": {"base", "format"},
    "image": {"base"},
    "cache": {"base", "format", "source", "decode"},
    "sample": {"base"} | MIDDLE,
    "plan": {"base", "sample"} | MIDDLE,
    "ops": {"base", "sample", "plan"} | MIDDLE,
    "stream": {"base", "sample", "plan"} | MIDDLE,
    "run": {"base", "sample", "plan", "stream"} | MIDDLE,
    "tools": {"base", "sample", "plan", "stream", "run"} | MIDDLE,
    "leat.c": {"base", "plan", "run", "tools"},
}
DOORS = {"stream": "stream/stream.h"}  # rooms of which others see one header only
FILES_MAX = 30  # in one folder of src or of the Python package


def calls(*names: str) -> str:
    """A call of one of these functions; not of a member or of a longer name."""
    return r"(?<![\w.>])(?:" + "|".join(names) + r")\s*\("


def header(*names: str) -> str:
    return r"#\s*include\s*[<\"](?:" + "|".join(names) + r")[>\"]"


THREADED = [f"src/{room}/*" for room in ("base", "cache", "sample", "plan", "stream", "run", "tools")]

# (what it is, regex on code without comments and strings, where it is looked for, where it may be)
TOUCHES = [
    ("files", calls("open(?:at|64)?", "creat", "p(?:read|write)v?(?:64)?", "m(?:un)?map", "(?:open|read|scan)dir",
                    "f?d?(?:re)?open", "mkstemp"), ["src/*"], ["src/base/*"]),
    ("the headers of threads and atomics (use base/thread.h)", header("pthread.h", "stdatomic.h", "threads.h"),
     ["src/*", "cli/*"], ["src/base/*"]),
    ("threads, locks and atomics (a source may call leat__parallel)",
     r"\b(?:pthread_\w+|atomic_\w+|_Atomic|leat__(?:lock|unlock|mutex\w*|cond\w*|thread_\w+))\b",
     ["src/*"], THREADED),
    ("threads", header("base/thread.h"), ["src/*"], [*THREADED, "src/source/*"]),
    ("the allocator (use base/mem.h)", calls("malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc",
                                             "posix_memalign", "strn?dup", "v?asprintf", "getline"),
     ["src/*"], ["src/base/mem.c"]),
    ("memory on the stack of unknown size", calls("alloca"), ["src/*", "cli/*"], []),
    ("intrinsics", header(r"\w*intrin\.h", r"arm_neon\.h"), ["src/*", "cli/*"],
     ["src/*/x86/*", "src/*/arm/*"]),
    ("a codec", header(r"png\.h", r"webp/\w+\.h", r"gif_lib\.h"), ["src/*", "cli/*"],
     ["src/decode/*", "src/tools/encode.c"]),
    ("libjpeg", header(r"jpeglib\.h", r"jerror\.h", r"jmorecfg\.h"), ["src/*", "cli/*"],
     ["src/decode/*", "src/tools/*"]),
    # libjpeg has no other way to report an error, when it encodes neither.
    ("setjmp", header(r"setjmp\.h"), ["src/*", "cli/*"], ["src/decode/*", "src/tools/*"]),
    ("zlib", header(r"zlib\.h"), ["src/*", "cli/*"], ["src/format/deflate.c"]),
    ("the terminal (speak by leat_error or the log callback)",
     calls("v?f?printf", "f?puts", "f?putc", "putchar", "perror") + r"|\b(?:stdout|stderr)\b", ["src/*"], []),
    ("a clock (use base/clock.h)", calls("clock_gettime", "gettimeofday", "time", "clock", "(?:clock_)?nanosleep",
                                         "usleep"), ["src/*"], ["src/base/*"]),
    ("hidden random numbers (draw from a key)", calls("s?rand", "rand_r", "s?random", r"[deln]rand48"),
     ["src/*", "cli/*", "tests/*", "examples/*"], []),
    ("libm where results must be equal everywhere",
     calls("(?:sin|cos|sincos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|"
           "hypot|erf|tgamma|lgamma)[fl]?"), ["src/*"], []),
    ("the end of the process", calls("abort", "_?exit", "quick_exit"), ["src/*"], []),
    ("Python", header(r"Python\.h"), ["src/*", "cli/*", "examples/*", "python/*", "tests/*", "bench/*"],
     ["python/ext/binding.h"]),
]

# Scripts that say what is out of date, by `leat ops --json`, tables of the package and kept figures; `make generate` runs them with --write.
GENERATED = ("python_ops.py", "operations.py", "dropin.py", "../bench/peers/page.py")

# How an operation or a source must not be recognised: rows and classes have flags for what others need to know.
RECOGNISED = [
    ("an operation by its function (give its row a flag, plan/op.h)", r"(?:->|\.)plan\s*[!=]=(?!\s*NULL)", []),
    ("an operation by its name (give its row a flag, plan/op.h)",
     r"\b(?:str|strn|strcase|mem)cmp\s*\([^;()]*?\bop->name\b", ["src/plan/words.c"]),  # which looks names up
    ("a source by its name (give its class a field, source/source.h)",
     r"\b(?:str|strn|strcase|mem)cmp\s*\([^;]*?\bclass->name\b", []),
]

# (rule, path, why): "files", "length", ... as named above or printed in front of a problem.
EXCEPTIONS: list[tuple[str, str, str]] = [
    ("length", "python/leat/_data/ops.py", "a table that a script writes"),
]

problems: list[str] = []
warnings: list[str] = []


def excepted(rule: str, name: str) -> bool:
    return any(rule == r and fnmatch.fnmatch(name, path) for r, path, _ in EXCEPTIONS)


def problem(rule: str, name: str, text: str, line: int = 0) -> None:
    if not excepted(rule, name):
        problems.append(f"{name}:{line or 1}: {rule}: {text}")


def matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


TOKENS = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def strip(text: str, strings: bool) -> str:
    """The code without comments, and without the insides of strings if asked; lines keep their numbers."""

    def blank(match: re.Match) -> str:
        token = match[0]
        if token[0] == "/":
            return " " + "\n" * token.count("\n")
        return token[0] + token[-1] if strings else token

    return TOKENS.sub(blank, text)


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


# ------------------------------------------------------------------------------------------ the rules


def check_includes(name: str, code: str) -> None:
    parts = name.split("/")
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', code, re.M):
        kind, path, line = match[1], match[2], line_of(code, match.start(1))
        public = path.startswith("leat/")
        if public:
            if not (ROOT / "include" / path).exists():
                problem("include", name, f"there is no {path}", line)
            continue
        if kind == "<":
            continue
        if parts[0] == "src":
            room, target = parts[1], path.split("/")[0]
            if room not in ROOMS:
                problem("include", name, f"{room} is not a room", line)
            elif target not in ROOMS or not (ROOT / "src" / path).exists():
                problem("include", name, f'"{path}" is not written as "room/file.h"', line)
            elif target != room and target in DOORS and path != DOORS[target]:
                problem("include", name, f"other rooms see {DOORS[target]} only", line)
            elif target != room and target not in ROOMS[room]:
                problem("include", name, f"{room} may not include {target}/", line)
        elif parts[0] == "cli":
            if not (ROOT / "cli" / path.removeprefix("cli/")).exists():
                problem("include", name, f'"{path}": the command sees <leat/...> and its own headers only', line)
        elif parts[0] in ("python", "examples", "include"):
            if parts[0] == "examples" or not ((ROOT / name).parent / path).exists():
                problem("include", name, f'"{path}": only <leat/...> is visible here', line)


def check_touches(name: str, code: str) -> None:
    for what, regex, where, allowed in TOUCHES:
        if not matches(name, where) or matches(name, allowed):
            continue
        for match in re.finditer(regex, code):
            places = " ".join(allowed) or "nowhere"
            problem("touches", name, f"`{match[0].strip()}`: {what}; allowed: {places}", line_of(code, match.start()))


def check_recognised(name: str, code: str) -> None:
    if not name.startswith("src/"):
        return
    for what, regex, allowed in RECOGNISED:
        for match in re.finditer(regex, code):
            if name not in allowed:
                problem("recognised", name, what, line_of(code, match.start()))


def check_text(name: str, text: str) -> None:
    head = text.split("\n", 2)[:2]
    at = 1 if head[0].startswith("#!") else 0
    if len(head) <= at or "SPDX-License-Identifier: Apache-2.0" not in head[at]:
        problem("spdx", name, f"line {at + 1} is not the SPDX line")
    n = text.count("\n")
    if n > LINES_MAX:
        problem("length", name, f"{n} lines; split at {LINES_MAX}")
    elif n > LINES_WARN and not excepted("length", name):
        warnings.append(f"{name}: {n} lines; think at {LINES_WARN}")
    if text and not text.endswith("\n"):
        problem("newline", name, "no newline at the end", n + 1)
    for number, line in enumerate(text.split("\n"), 1):
        if re.search(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b", line):
            problem("unfinished", name, line.strip()[:80], number)
        if line != line.rstrip():
            problem("space", name, "space at the end of the line", number)


def check_names(files: list[str]) -> None:
    seen: dict[str, str] = {}
    for name in files:
        if name.endswith(".c") and name.startswith(("src/", "cli/")):
            base = name.rsplit("/", 1)[1]
            if base in seen:
                problem("name", name, f"{base} is also {seen[base]}; a file name is an address")
            seen[base] = name
        if "/x86/" in name and name.endswith(".c") and not re.search(r"_(?:sse42|avx2|vpclmul)\.c$", name):
            problem("name", name, "a file under x86/ ends in _sse42.c, _avx2.c or _vpclmul.c")
        if "/arm/" in name and name.endswith(".c") and not re.search(r"_(?:arm|neon)\.c$", name):
            problem("name", name, "a file under arm/ ends in _arm.c (the CRC instructions) or _neon.c")


def check_folders(files: list[str]) -> None:
    """A folder of many files is a list, not a map."""
    counts = Counter(name.rsplit("/", 1)[0] for name in files if name.startswith(("src/", "python/leat/")))
    for folder, n in sorted(counts.items()):
        if n > FILES_MAX:
            problem("folder", folder, f"{n} files; make a room of its own at {FILES_MAX}")


def check_cycles() -> None:
    """The table above must not have one, or the check of includes is worth nothing."""
    for room in ROOMS:
        below, left = set(), [room]
        while left:
            for other in ROOMS[left.pop()] - below:
                below.add(other)
                left.append(other)
        if room in below:
            problem("rooms", "scripts/check_rooms.py", f"{room} includes itself by way of others")


def declared() -> dict[str, list[str]]:
    """Public header -> its functions."""
    found = {}
    for path in sorted((ROOT / "include/leat").glob("*.h")):
        code = strip(path.read_text(), True)
        found[path.name] = re.findall(r"^LEAT_API\b[^;{]*?\b(leat_\w+)\s*\(", code, re.M)
    return found


def check_api() -> None:
    n = len(declared().get("leat.h", []))
    if n >= API_MAX:
        problem("api", "include/leat/leat.h", f"{n} functions; the door stays under {API_MAX}")


def missing(*tools: str) -> bool:
    """A check that could not be done is a problem, not a pass."""
    lacking = [tool for tool in tools if not shutil.which(tool)]
    for tool in lacking:
        problem("tool", "scripts/check_rooms.py", f"{tool} is not here, so not everything was checked (scripts/install-deps)")
    return bool(lacking)


def nm(path: Path, *flags: str) -> set[str]:
    text = subprocess.run(["nm", "--defined-only", *flags, path], capture_output=True, text=True, check=True).stdout
    rows = (words for words in map(str.split, text.splitlines()) if len(words) == 3 and words[1].isupper())
    return {words[2].partition("@")[0] for words in rows if words[1] != "A"}  # A: the name of a version


def check_symbols() -> None:
    static, shared = ROOT / "build/release/src/libleat.a", ROOT / "build/release/src/libleat.so"
    if missing("nm"):
        return
    for library in (static, shared):
        if not library.exists():
            problem("symbol", library.relative_to(ROOT).as_posix(), "is not built: its symbols cannot be checked (make)")
            return
    for symbol in sorted(nm(static, "-g")):
        if not symbol.startswith("leat_"):
            problem("symbol", "build/release/src/libleat.a", f"{symbol} is global and not leat_*")
    exported, wanted = nm(shared, "-D"), {f for names in declared().values() for f in names}
    for symbol in sorted(exported - wanted):
        problem("export", "build/release/src/libleat.so", f"{symbol} is exported, but in no public header")
    for symbol in sorted(wanted - exported):
        problem("export", "build/release/src/libleat.so", f"{symbol} is declared, but not exported")


def check_headers(files: list[str]) -> None:
    """Each header is its own first line."""
    jobs = []
    for name in (name for name in files if name.endswith(".h") and name.startswith(("src/", "include/"))):
        if name.startswith("src/base/arm/"):
            continue  # the intrinsics of another processor: make test-arm compiles them
        warn = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "-Isrc"]
        if name.startswith("include/"):
            jobs.append((name, ["gcc", "-std=c11", "-pedantic", *warn, "-x", "c", name]))
            jobs.append((name, ["g++", "-std=c++11", *warn, "-x", "c++", name]))
        else:
            isa = ["-mavx2", "-mpclmul"] if "/x86/" in name else []
            # A header of static functions leaves some of them unused.
            jobs.append((name, ["gcc", "-std=gnu11", "-D_GNU_SOURCE", *warn, "-Wno-unused-function", *isa, "-x", "c",
                                name]))
    if missing("gcc", "g++"):
        return

    def run(job: tuple[str, list[str]]) -> None:
        done = subprocess.run(job[1], cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
            problem("header", job[0], f"does not compile alone ({job[1][0]}): {first}")

    with ThreadPoolExecutor() as pool:
        list(pool.map(run, jobs))


def check_format(files: list[str]) -> None:
    tool = shutil.which(f"clang-format-{CLANG_FORMAT}") or shutil.which("clang-format")
    if not tool:
        missing("clang-format")
        return
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"version (\d+)", version)
    same = found is not None and found[1] == CLANG_FORMAT
    done = subprocess.run([tool, "--dry-run", "-Werror", *files], cwd=ROOT, capture_output=True, text=True)
    places: dict[str, int] = {}
    for match in re.finditer(r"^(.+?):(\d+):\d+: error: ", done.stderr, re.M):
        places.setdefault(match[1], int(match[2]))
    if not same and places:
        warnings.append(f"{len(places)} files would be formatted otherwise by {version.strip()}; {CLANG_FORMAT} decides")
    for name, line in sorted(places.items()) if same else []:
        problem("format", name, "not as clang-format writes it (make format)", line)


def check_generated() -> None:
    if not (ROOT / "build/release/cli/leat").exists():
        warnings.append("build/release/cli/leat is not here: generated files were not compared (make)")
        return
    for script in GENERATED:
        done = subprocess.run([sys.executable, ROOT / "scripts" / script], capture_output=True, text=True)
        for line in (done.stdout + done.stderr).splitlines() if done.returncode else []:
            problem("generated", f"scripts/{script}", line)


def c_files() -> list[str]:
    folders = ("include", "src", "cli", "python", "examples", "tests", "bench")
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.[ch]"))
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def other_files() -> list[str]:
    paths = [path for folder in ("scripts", ".ci", "tests", "bench", "python", "examples", "cli", "src")
             for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".sh") or path.name == "meson.build"
             or (folder in ("scripts", ".ci") and not path.suffix)]
    paths += [ROOT / name for name in ("meson.build", "meson_options.txt", "Makefile")]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths
                  if path.is_file() and "__pycache__" not in path.parts)


def main() -> int:
    if "--list-c" in sys.argv[1:]:
        print("\n".join(c_files()))
        return 0
    files = c_files()
    for name in files + other_files():
        text = (ROOT / name).read_text(errors="replace")
        check_text(name, text)
        if name.endswith((".c", ".h")):
            check_includes(name, strip(text, False))
            check_touches(name, strip_for_touch(text))
            check_recognised(name, strip(text, True))
    check_names(files)
    check_folders(files)
    check_cycles()
    check_api()
    check_headers(files)
    check_symbols()
    check_format(files)
    check_generated()
    problems.extend(f"lists: {text}; remedy: make generate" for text in sources.compare(False))
    for text in warnings:
        print(f"warning: {text}")
    for text in problems:
        print(text)
    print(f"style: {len(files)} C files, {len(problems)} problems, {len(warnings)} warnings")
    return 1 if problems else 0


def strip_for_touch(text: str) -> str:
    """Without comments and strings, but with the names in #include lines."""
    bare = strip(text, True).split("\n")
    full = strip(text, False).split("\n")
    return "\n".join(f if re.match(r"\s*#\s*include", f) else b for b, f in zip(bare, full))


if __name__ == "__main__":
    sys.exit(main())
