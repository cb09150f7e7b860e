# SPDX-License-Identifier: Apache-2.0
"""Bar charts as SVG, which follow the light or dark of the reader's system by themselves."""
from __future__ import annotations

from html import escape
from typing import NamedTuple

LEFT, RIGHT, BAR, GAP, TOP = 230, 120, 18, 8, 44
WIDTH = 760
STYLE = """<style>
text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600;font-size:14px}.small{font-size:11px;fill:#59636e}
.value{stroke:#ffffff;stroke-width:5;paint-order:stroke}
.back{fill:#ffffff}.leat{fill:#0969da}.other{fill:#8c959f}.limit{stroke:#cf222e;stroke-width:2;stroke-dasharray:5 3}.noise{stroke:#1f2328}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.value{stroke:#0d1117}.back{fill:#0d1117}.leat{fill:#4493f8}.other{fill:#6e7681}
.limit{stroke:#ff7b72}.noise{stroke:#e6edf3}}
</style>"""


class Bar(NamedTuple):
    name: str
    value: float
    low: float
    high: float
    ours: bool


def rounded(value: float) -> str:
    """Three digits and no more: what is measured here is not known better."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def chart(title: str, unit: str, bars: list[Bar], limit: tuple[str, float] | None = None) -> str:
    """Longest first, the name on the left and the value behind its bar. A thin line is the range of all rounds."""
    bars = sorted(bars, key=lambda bar: -bar.value)
    most = max([bar.high for bar in bars] + ([limit[1]] if limit else []))
    scale = (WIDTH - LEFT - RIGHT) / most
    height = TOP + len(bars) * (BAR + GAP) + (30 if limit else 12)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">', STYLE,
             f'<rect class="back" width="{WIDTH}" height="{height}" rx="6"/>',
             f'<text class="title" x="16" y="24">{escape(title)}</text>'
             f'<text class="small" x="{WIDTH - 16}" y="24" text-anchor="end">{escape(unit)}</text>']
    values = []  # drawn last, and wiped free of the limit's line
    for number, bar in enumerate(bars):
        y = TOP + number * (BAR + GAP)
        middle = y + BAR / 2
        parts.append(f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{escape(bar.name)}</text>'
                     f'<rect class="{"leat" if bar.ours else "other"}" x="{LEFT}" y="{y}" width="{max(1, bar.value * scale):.1f}" '
                     f'height="{BAR}" rx="2"/><line class="noise" x1="{LEFT + bar.low * scale:.1f}" x2="{LEFT + bar.high * scale:.1f}" '
                     f'y1="{middle}" y2="{middle}"/>')
        values.append(f'<text class="value" x="{LEFT + bar.high * scale + 8:.1f}" y="{y + 14}">{rounded(bar.value)}</text>')
    if limit:
        x, bottom = LEFT + limit[1] * scale, TOP + len(bars) * (BAR + GAP)
        anchor = "end" if x > WIDTH / 2 else "start"
        parts.append(f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}"/>'
                     f'<text class="small" x="{x:.1f}" y="{bottom + 14}" text-anchor="{anchor}">{escape(limit[0])}: '
                     f'{rounded(limit[1])}</text>')
    return "\n".join(parts + values) + "\n</svg>\n"
