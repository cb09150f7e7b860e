# SPDX-License-Identifier: Apache-2.0
"""Whole pipelines whose every byte is known: tests/golden/digests.json has a digest of each.

    python3 tests/cli/digests.py            says which digests differ from the committed ones; exit code 1 if any does
    python3 tests/cli/digests.py --write    writes them: only if the change of bytes is meant

The inputs do not depend on the version of a codec's encoder: JPEGs are committed (tests/golden/photos), the practice set
is painted by `leat synth` as PNG, of which only the pixels count, and records are packed from those pixels.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests/golden/digests.json"
COMMAND = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
RAW = "parse image:bytes label:int64 | decode_raw u8 | reshape 54 72 3"
FLIPS = "random_flip_left_right | random_flip_up_down"

# name -> text; {png}, {jpeg}, {raw} and {gz} are the inputs. The first one is the practice set itself.
PIPELINES = {
    "practice": "folder {png} | decode | batch 4",
    "made_up": "synth 40 33 47 | batch 7",
    "jpeg": "folder {jpeg} | decode | resize_with_crop_or_pad 112 144 | batch 3",
    "jpeg_fast": "folder {jpeg} | decode | resize_with_crop_or_pad 112 144 | batch 3 | options accuracy=fast",
    "jpeg_scaled": "folder {jpeg} | shuffle seed=3 | decode scale=auto | random_resized_crop 20 | batch 3",
    "imagenet": "folder {jpeg} | shuffle seed=7 | decode | random_resized_crop 48 | random_flip_left_right"
                " | normalize imagenet layout=nchw | batch 4",
    "tf_resize": "folder {jpeg} | shuffle | decode | resize 61 43 | random_crop 40 | cast f32 scale=1/255 | batch 3",
    "tf_antialias": "folder {png} | decode | resize 25 31 method=lanczos3 antialias=true | batch 4",
    "pil_resize": "folder {png} | decode | resize_shorter 40 method=bicubic | center_crop 36 | batch 4",
    "area": "folder {png} | decode | resize 23 29 method=area | per_image_standardization | batch 4",
    "warps": "folder {png} | shuffle | decode | random_rotation 0.2 | random_zoom 0.3 | random_translation 0.2 0.2"
             " fill=wrap | random_perspective | random_elastic_transform scale=0.5 | batch 5",
    "torch_affine": "folder {png} | decode | random_affine 30 translate=0.2,0.1 scale=0.7,1.3 shear=-10,10"
                    " interpolation=bilinear | batch 5",
    "colour": "folder {png} | decode | random_brightness 0.2 | random_contrast 0.6 1.4 | random_saturation 0.5 1.5"
              " | random_hue 0.1 | random_gamma 0.7 1.5 | gaussian_noise 2 | batch 4",
    "color_jitter": "folder {png} | decode | color_jitter 0.4 0.4 0.4 0.1 | gaussian_blur 5 | random_sharpness 0.5 2 | batch 4",
    "idg": "folder {png} | shuffle | decode | resize 40 40 | image_data_generator rotation=25 width_shift=0.1"
           " height_shift=0.1 shear=5 zoom=0.2 horizontal_flip=true | rescale 1/255 | batch 6",
    "rand_augment": "folder {png} | decode | rand_augment num_ops=3 magnitude=12 | trivial_augment_wide | auto_augment"
                    " | random_erasing | batch 4",
    "records": "tfrecord {raw} | shuffle seed=3 | " + RAW + " | " + FLIPS + " | random_crop 48 padding=4 | cast f16"
               " scale=1/255 layout=nchw | batch 7",
    "stream": "tfrecord {gz} | interleave 2 | shuffle 10 | " + RAW + " | " + FLIPS + " | batch 5 drop_remainder=true",
    "mixup": "tfrecord {raw} | shuffle | " + RAW + " | cast f32 scale=1/255 | one_hot classes=3 smoothing=0.1 | batch 8"
             " | mixup group=4 | cutmix group=4 p=0.5",
    "chance": "folder {png} | shuffle | decode | random_apply 0.5 'gaussian_blur 5 sigma=0.2,2 | random_flip_left_right'"
              " | random_choice 'color_jitter 0.4 0.4' 'cast f32 | random_rotation 0.1 | cast u8' 'invert' weights=2,1,1 | batch 4",
    "window": "synth 400 4 4 | window 6 shift=2 stride=3 targets=label at=1 | shuffle | batch 16",
    "order": "synth 5000 4 4 | shuffle | shard 1/3 | repeat 2 | skip 100 | shuffle 64 | take 900 | enumerate | batch 32",
    "large_order": "synth 100000 1 1 | balance n=90000 | shuffle | take 2000 | batch 50",
}


def run(*words, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **(env or {})})
    assert done.returncode == 0, " ".join(map(str, words)) + "\n" + done.stderr
    return done.stdout


def make_inputs(folder: Path) -> dict[str, str]:
    """What the names in braces stand for. Same files, whatever the machine; of PNG and GZIP, same contents."""
    run("synth", folder / "png", "--images", "24", "--classes", "3", "--size", "72x54", "--format", "png", "--quiet")
    run("pack", folder / "png", folder / "raw", "--raw", "--size", "54x72", "--shards", "3", "--no-side-files", "--quiet")
    (folder / "gz").mkdir()
    for path in (folder / "raw").glob("*.tfrecord"):
        (folder / "gz" / path.name).write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return {"png": f"'{folder}/png'", "jpeg": f"'{ROOT}/tests/golden/photos'", "raw": f"'{folder}/raw/*.tfrecord'",
            "gz": f"'{folder}/gz/*.tfrecord'"}


def digest(name: str, inputs: dict[str, str], *words, env: dict[str, str] | None = None) -> str:
    return run("run", PIPELINES[name].format(**inputs), "--sink", "digest", "--epochs", "2", "--no-side-files", "--quiet",
               *words, env=env).split()[-1]


def committed() -> dict[str, str]:
    return json.loads(FILE.read_text())


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        inputs = make_inputs(Path(name))
        found = {pipeline: digest(pipeline, inputs) for pipeline in PIPELINES}
    before = committed() if FILE.exists() else {}
    changed = [pipeline for pipeline in found if found[pipeline] != before.get(pipeline)]
    for pipeline in changed:
        print(f"{pipeline}: {before.get(pipeline, 'new')} -> {found[pipeline]}")
    write = "--write" in sys.argv[1:]
    if write:
        FILE.write_text(json.dumps(found, indent=1) + "\n")
    print(f"digests: {len(found)} pipelines, {len(changed)} differ" + ", written" * write)
    return 1 if changed and not write else 0


if __name__ == "__main__":
    sys.exit(main())
