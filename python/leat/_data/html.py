# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of a dataset: where it comes from, what happens to it, what comes out, and some of it."""
from __future__ import annotations

import base64
import time
from html import escape
from typing import TYPE_CHECKING, Any

from .._base.errors import Error

if TYPE_CHECKING:
    from .dataset import Dataset, TensorSpec

QUICK = 0.3  # seconds that the pictures may take
PICTURES, SIZE = 8, 96
STYLE = ("font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;border:1px solid #8884;border-radius:6px;"
         "padding:10px 14px;display:inline-block;max-width:900px")
FADED = "color:#777"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _specs(dataset: Dataset) -> list[TensorSpec]:
    """The fields of an item, in order, whatever its form."""
    def flat(spec: Any) -> list[Any]:
        if isinstance(spec, dict):
            return [field for part in spec.values() for field in flat(part)]
        if isinstance(spec, tuple) and not hasattr(spec, "dtype"):
            return [field for part in spec for field in flat(part)]
        return [spec]

    return flat(dataset.element_spec)


def _shape(spec: TensorSpec) -> str:
    sides = ["any" if n is None else str(n) for n in spec.shape]
    return f"({', '.join(sides)}{',' if len(sides) == 1 else ''})" + (" ragged" if spec.ragged else "")


def _sizes(dataset: Dataset) -> str:
    length, samples = dataset.length, dataset.samples
    words = [f"{samples} samples" if samples is not None else "samples not counted yet"]
    if dataset.batched:
        words.append("without end" if dataset.endless else f"{length} batches" if length is not None else "")
    classes = dataset.class_names
    if classes:
        shown = ", ".join(classes[:8]) + (", ..." if len(classes) > 8 else "")
        words.append(f"{len(classes)} classes: {shown}")
    return ", ".join(escape(word) for word in words if word)


def _is_cheap(dataset: Dataset) -> bool:
    """Whether looking runs no code of the user's: a generator, a dataset of Python, a function of filter."""
    runs = dataset._runs
    if any(feed is not None and not feed.pipeline.closed for feed in (runs.idle, runs.plan)):
        return True
    origin = dataset._origin
    return origin.lazy_arrays is None and origin.source is None and not dataset._callbacks


def _strip(dataset: Dataset) -> str:
    """Some samples as the pipeline makes them, if it has pictures and is quick: judged by the first sample."""
    begun = time.monotonic()
    dataset.sample(0)
    if (time.monotonic() - begun) * PICTURES > QUICK:
        return ""
    from .show import draw

    png = draw(dataset, PICTURES, 1, SIZE, strip=True).png
    data = base64.b64encode(png).decode("ascii")
    return f'<div style="margin-top:8px"><img alt="samples" src="data:image/png;base64,{data}"></div>'


def to_html(dataset: Dataset) -> str:
    source, *rest = dataset.operations
    steps = "".join(f"<li>{_code(operation)}</li>" for operation in rest)
    lines = [f'<div style="{STYLE}"><b>leat.Dataset</b> <span style="{FADED}">seed {dataset.seed}</span>',
             f"<div>{_code(source)}</div>", f'<ol style="margin:4px 0 4px 0;padding-left:24px">{steps}</ol>' if rest else ""]
    if not _is_cheap(dataset):
        lines.append(f'<div style="{FADED}">not opened yet: iterating or <code>print(ds)</code> runs its functions</div>')
        return "".join([*lines, "</div>"])
    try:
        cells = [(_code(spec.name), escape(spec.dtype), escape(_shape(spec))) for spec in _specs(dataset)]
        rows = "".join("<tr>" + "".join(f"<td>{cell}&emsp;</td>" for cell in row) + "</tr>" for row in cells)
        lines += [f"<div>{_sizes(dataset)}</div>",
                  f'<table style="margin:4px 0 0 0;font-size:inherit;text-align:left"><tbody>{rows}</tbody></table>']
    except Error as error:
        lines.append(f'<div style="color:#b04020">cannot be opened: {escape(str(error))}</div>')
        return "".join([*lines, "</div>"])
    try:
        lines.append(_strip(dataset))
    except (Error, IndexError) as error:  # no picture among its fields, or a bad one
        lines.append(f'<div style="{FADED}">{escape(str(error))}</div>' if "no picture" not in str(error) else "")
    return "".join([*lines, "</div>"])
