# SPDX-License-Identifier: Apache-2.0
"""A disk that fails at every call in turn: EIO, ENOSPC, EINTR, short transfers, and calls that take their time.

The run has the right bytes, or ends with an exit code and one line. Where only side files are on that disk it has the right bytes. The
next run, on a disk that works, has them in any case: nothing broken is trusted."""
from __future__ import annotations

import re
import time
from dataclasses import dataclass

import samples
from trial import Place, copy, shim

KINDS = ("eio", "enospc", "eintr", "short", "block")


@dataclass
class Scene:
    name: str
    words: list[str]
    below: str  # which folders are on the disk that fails
    must: bool = False  # the data itself is on a good disk: the run gets to its end
    warm: bool = False  # the side files are there already
    out: str = ""  # what it writes, compared when it ends well
    report: str = ""  # a tool that looks at data names what it could not read, in its report


def scenes(place: Place) -> list[Scene]:
    data, cache = place.folder / "data", place.folder / "cache"
    run = ["--sink", "digest", "-t", "2", "-q"]
    photos = f"folder {data}/photos | shuffle | decode | random_resized_crop 24 | batch 8"
    rows = f"tfrecord {data}/a.tfrecord | shuffle | parse label:int64 image:bytes | decode | resize 9 9 | batch 8"
    stream = f"tfrecord {data}/a.tfrecord.gz | shuffle 7 | parse label:int64 image:bytes | decode | resize 9 9 | batch 8"
    kept = f"folder {data}/photos | decode | resize 16 16 | cache {place.folder}/kept | random_flip_left_right | batch 8"
    out = str(place.folder / "out")
    return [
        Scene("photos, first run", ["run", photos, "-e", "2", *run], str(data)),
        Scene("photos, no index", ["run", photos, *run, "--no-side-files", "--on-error", "skip"], str(data)),
        Scene("photos, with an index", ["run", photos, *run, "--on-error", "replace"], str(data), warm=True),
        Scene("side files, first run", ["run", photos, "-e", "2", *run], str(cache), must=True),
        Scene("side files, later run", ["run", photos, "-e", "2", *run], str(cache), must=True, warm=True),
        Scene("records, first run", ["run", rows, *run], f"{data}:{cache}"),
        Scene("records, later run", ["run", rows, *run], f"{data}:{cache}", warm=True),
        Scene("index of records", ["run", rows, *run], str(cache), must=True),
        Scene("compressed records", ["run", stream, *run, "--on-error", "skip"], str(data)),
        Scene("tar", ["run", f"webdataset {data}/a.tar | decode | resize 9 9 | batch 8", *run], f"{data}:{cache}"),
        Scene("cache, writing", ["run", kept, "-e", "2", *run], f"{place.folder}/kept"),
        Scene("cache, reading", ["run", kept, *run], f"{place.folder}/kept", warm=True),
        Scene("state", ["run", photos, *run, "-n", "2", "--state", f"{out}/state"], out, out="state"),
        Scene("pack", ["pack", f"{data}/photos", out, "--shards", "2", "--size", "20", "-q"], out, out="*"),
        Scene("pack, reading", ["pack", f"{data}/photos", out, "--shards", "2", "-q"], str(data), out="*"),
        Scene("index", ["index", f"{data}/photos", "--positions", "-q"], f"{data}:{cache}"),
        Scene("check", ["check", f"{data}/a.tfrecord"], str(data), report=r"\d bad "),
        Scene("info", ["info", f"{data}/photos"], f"{data}:{cache}", report="could not be read"),
    ]


WRITTEN = ("cache", "kept", "out")  # folders that runs write to


def plain(text: str) -> str:
    """Without times and rates, which differ from run to run."""
    return re.sub(r"[0-9.]+ (s|ms|us|MB/s|GB/s|[a-z]+/s)\b|in [0-9.]+ \w+", "", text)


class Disk:
    def __init__(self, place: Place) -> None:
        self.place, self.library = place, shim(place, "disk")
        samples.make(place)
        for name in WRITTEN:
            (place.folder / f"{name}-empty").mkdir(exist_ok=True)

    def begin(self, scene: Scene) -> None:
        """The folders as they were before the first run, or after it."""
        for name in WRITTEN:
            warm = self.place.folder / f"{name}-{scene.name}"
            copy(warm if scene.warm and warm.exists() else self.place.folder / f"{name}-empty", self.place.folder / name)

    def attempt(self, scene: Scene, **fault: object):
        env = {"LD_PRELOAD": self.library, "DISK_BELOW": scene.below, **fault} if fault else {}
        done = self.place.run(*scene.words, **env)
        done.what = f"{' '.join(f'{key}={value}' for key, value in env.items())} {done.what}"
        done.stdout = plain(done.stdout)
        return done

    def wrote(self, scene: Scene) -> dict[str, bytes]:
        out = self.place.folder / "out"
        found = {path.name: path.read_bytes() for path in out.glob(scene.out) if path.is_file()} if scene.out else {}
        return {name: data for name, data in found.items() if not name.startswith(".")}

    def wanted(self, scene: Scene) -> tuple[str, dict[str, bytes]]:
        """What the run says and writes on a disk that works; a scene that begins warm finds what the first run left."""
        self.begin(Scene(scene.name, scene.words, scene.below))
        done = self.attempt(scene)
        assert done.check(None), done
        if scene.warm:
            for name in WRITTEN:
                copy(self.place.folder / name, self.place.folder / f"{name}-{scene.name}")
        return done.stdout, self.wrote(scene)

    def calls(self, scene: Scene, kind: str) -> int:
        self.begin(scene)
        log = self.place.folder / "calls"
        log.unlink(missing_ok=True)
        assert self.attempt(scene, DISK_KIND=kind, DISK_AT=0, DISK_LOG=log).code == 0
        return int(log.read_text())

    def case(self, scene: Scene, wanted: tuple[str, dict[str, bytes]], kind: str, at: int, more: int) -> None:
        where = f"{scene.name}, {kind} at call {at}, {more or 'all'} from there"
        self.begin(scene)
        done = self.attempt(scene, DISK_KIND=kind, DISK_AT=at, DISK_MORE=more, DISK_MS=30)
        named = scene.report and re.search(scene.report, done.stdout) and done.code in (0, 1)
        good = not named and done.check(wanted[0], where=where)
        harmless = scene.must or kind in ("short", "block")
        assert good or not harmless, f"{where}: it should have gone through: {done}"
        if good and scene.out:
            assert self.wrote(scene) == wanted[1], f"{where}: other files: {done}"
        if scene.out == "state" and self.wrote(scene) not in ({}, wanted[1]):
            raise AssertionError(f"{where}: a broken state: {done}")
        if scene.out != "state":  # which a second run would go on from
            again = self.attempt(scene)
            assert again.check(wanted[0], where=f"after {where}"), f"after {where}: {again}"
            assert self.wrote(scene) == wanted[1], f"after {where}: other files"


def cases(disk: Disk, chosen: list[Scene], kinds: tuple[str, ...] = KINDS) -> list[tuple]:
    """Every call of every scene, each kind of fault: once, and for some calls also from there on."""
    cases = []
    for scene in chosen:
        wanted = disk.wanted(scene)
        for kind in kinds:
            for at in range(1, disk.calls(scene, kind) + 1):
                cases.append((scene, wanted, kind, at, 1))
                if kind in ("eio", "enospc") and at % 3 == 1:
                    cases.append((scene, wanted, kind, at, 0))
                if kind in ("eintr", "short") and at % 5 == 1:
                    cases.append((scene, wanted, kind, at, 40))
    return cases


def trial(place: Place) -> str:
    """Scenes have equal shares of the time; what one does not need is left for the others."""
    disk, done, known = Disk(place), 0, 0
    chosen = scenes(place)
    place.random.shuffle(chosen)
    for number, scene in enumerate(chosen, 1):
        todo = cases(disk, [scene])
        known += len(todo)
        place.random.shuffle(todo)
        for case in todo:
            if time.monotonic() - place.began > place.seconds * number / len(chosen):
                break
            disk.case(*case)
            done += 1
    return f"{done:,} of {known:,} faults"
