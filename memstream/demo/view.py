"""What a demonstration shows in a terminal."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from memstream.demo.story import STRETCH, Story, apart

BLOCKS: Final = "▁▂▃▄▅▆▇█"
LOWEST, HIGHEST = 0.3, 1.0
"""Between these rewards lines are drawn, for all tenants alike: what a search earns that nothing
more is heard of, and the most there is."""
POINTS: Final = 28
MOVED: Final = 3
PROMOTIONS: Final = 6

SAID: Final = (
    "Nothing is played back: every search, use, rewording and giving up goes through Kafka to the "
    "service, which labels it, learns from it, and promotes what proves better. Made easy to see: "
    "it starts from equal weights (PRIOR=equal; the shipped ones know much of this), questions "
    "are not taken apart (rlm_enabled=false), none learns from another (global_prior=false), and a "
    "search that nothing more is heard of is labelled after seconds (OUTCOME_WINDOW_S)."
)


def view(stories: Sequence[Story], passed_s: float) -> RenderableType:
    """Show how far it is."""
    table = Table(
        "tenant",
        Column(f"reward, {LOWEST:g} to {HIGHEST:g}", no_wrap=True),
        "right first",
        "policy",
        title=f"after {passed_s:.0f} s",
        title_justify="left",
        caption=f"→ is from the first {STRETCH} to the last {STRETCH} searches",
        caption_justify="left",
    )
    for story in stories:
        table.add_row(*_row(story))
        table.add_section()
    return Group(Text(SAID, style="dim"), "", table, *_promotions(stories), _distances(stories))


def _row(story: Story) -> tuple[RenderableType, ...]:
    moved = [f"{name} {by:+.1f}" for name, by in list(story.moved().items())[:MOVED] if by]
    tries = story.policy.get("exploration_rate", 0.0)
    return (
        Text.assemble((story.tenant.name, "bold"), "\n", (story.tenant.habit, "dim")),
        Text.assemble(
            (sparkline(story.curve(POINTS)), "green"),
            *("\n", _both(story.reward(), "{:.2f}"), f"  of {len(story.right)} searches"),
        ),
        _both(story.share(), "{:.0%}"),
        f"version {story.version}, {tries:.0%} tried out\n{', '.join(moved) or 'as it began'}",
    )


def _both(values: tuple[float, float] | None, form: str) -> Text:
    if values is None:
        return Text("—")
    start, now = values
    return Text.assemble(
        form.format(start), " → ", (form.format(now), "bold green" if now > start else "bold")
    )


def sparkline(values: Sequence[float]) -> str:
    """Return a line of blocks, one for each value."""
    steps = len(BLOCKS) - 1
    scaled = [(value - LOWEST) / (HIGHEST - LOWEST) for value in values]
    return "".join(BLOCKS[round(min(max(one, 0.0), 1.0) * steps)] for one in scaled)


def _promotions(stories: Sequence[Story]) -> list[Text]:
    """Show the last promotions, whoever they are of."""
    known: list[tuple[str, Story, Any]] = [
        (one["at"], story, one) for story in stories for one in story.promotions()
    ]
    known.sort(key=lambda one: one[0])
    return [_promotion(*one) for one in known[-PROMOTIONS:]]


def _promotion(at: str, story: Story, event: Any) -> Text:
    better = ""
    if event.get("estimate") is not None:
        better = f", better by {event['estimate']:.2f}"
        if event.get("lower") is not None:
            better += f" (surely by {event['lower']:.2f})"
    return Text.assemble(
        (at[11:19], "dim"),
        f" {story.tenant.name}: {event['part']} {event['kind']} as version {event['version']} "
        f"after {event['trained']} searches{better}",
    )


def _distances(stories: Sequence[Story]) -> Text:
    pairs = [
        f"{one.tenant.name}–{other.tenant.name} {apart(one, other):.1f}"
        for one, other in combinations(stories, 2)
    ]
    return Text(f"how far policies are apart (0 at the start): {', '.join(pairs)}", style="cyan")
