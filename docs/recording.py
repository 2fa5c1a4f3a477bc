"""Makes one moving picture of what a terminal showed, with nothing in it from elsewhere."""

import io
import re
from collections.abc import Sequence
from typing import Final

from rich.console import Console, RenderableType
from rich.terminal_theme import DIMMED_MONOKAI

COLUMNS: Final = 120
FRAME_S: Final = 1.2
LAST_S: Final = 4.0
"""How long the last frame stays before it begins again."""

# Rich's own format fetches a font from the network.
FORMAT: Final = """\
<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}"
 xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
 font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def frame(shown: RenderableType, name: str) -> str:
    """Return what a terminal shows, as SVG."""
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
    )
    console.print(shown)
    return console.export_svg(
        title="make demo", theme=DIMMED_MONOKAI, code_format=FORMAT, unique_id=name
    )


def animated(frames: Sequence[str]) -> str:
    """Return an SVG that shows one frame after another, and the last one longest."""
    sizes = [re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', one) for one in frames]
    width = max(float(size[1]) for size in sizes if size)
    height = max(float(size[2]) for size in sizes if size)
    whole = FRAME_S * (len(frames) - 1) + LAST_S
    styles, groups = [], []
    for number, one in enumerate(frames):
        start, end = FRAME_S * number / whole, FRAME_S * (number + 1) / whole
        last = number == len(frames) - 1
        shown = f"{100 * start:.2f}% {{ visibility: visible }}"
        hidden = "" if last else f" {100 * end:.2f}% {{ visibility: hidden }}"
        before = "" if number == 0 else "0% { visibility: hidden } "
        after = "100% { visibility: visible }" if last else "100% { visibility: hidden }"
        styles.append(f"@keyframes k{number} {{ {before}{shown}{hidden} {after} }}")
        # Where nothing moves, or somebody wants nothing to, the last frame is what there is to see.
        still = "visible" if last else "hidden"
        styles.append(
            f".f{number} {{ visibility: {still}; animation: k{number} {whole}s step-end infinite }}"
        )
        groups.append(f'<g class="f{number}">{one}</g>')
    styles.append("@media (prefers-reduced-motion: reduce) { g { animation: none !important } }")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width:.0f}" height="{height:.0f}">\n<style>{" ".join(styles)}</style>\n'
        + "\n".join(groups)
        + "\n</svg>\n"
    )
