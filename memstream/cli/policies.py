"""Commands for what was learned for a tenant, and for the control of it."""

import getpass
import json
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.markup import escape

from memstream.cli.shell import app, names_of, run
from memstream.clock import now
from memstream.display import console
from memstream.policy_display import show_history, show_policy
from memstream.runtime import with_running_parts
from memstream.settings import Settings, load_settings
from memstream.tenant_values import check_tenant

if TYPE_CHECKING:
    from storage import Store

policy = typer.Typer(help="See and control what was learned for a tenant.", no_args_is_help=True)
app.add_typer(policy, name="policy")

Tenant = Annotated[str, typer.Option("--tenant", "-t", help="The tenant whose policy it is.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Why = Annotated[str, typer.Option(help="Why, for the policy's history.")]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask again; nobody is asked without a terminal.")
]

MOST_REASON = 1000
"""Enough to say why; what is longer belongs elsewhere."""

T = TypeVar("T")


@policy.command("show")
def policy_show(
    tenant: Tenant,
    everything: Annotated[
        bool, typer.Option("--all", help="Also the weights that are as shipped.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what serves a tenant, against what it began with, and what waits to be promoted."""
    from learning.config import LearningConfig
    from memstream.policy_report import policy_report
    from memstream.wiring import prior_of

    name = check_tenant(tenant)
    report = _with_store(
        lambda store, settings: policy_report(store, name, prior_of(settings), LearningConfig())
    )
    if as_json:
        console.print_json(json.dumps(report))
    else:
        show_policy(report, everything=everything)


@policy.command("history")
def policy_history(
    tenant: Tenant,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show what became of a tenant's policy: when, by how much, by whom and why."""
    from memstream.policy_report import history_report

    name = check_tenant(tenant)
    entries = history_report(
        list(_with_store(lambda store, _: store.policies.history(name, limit)))
    )
    if as_json:
        console.print_json(json.dumps(entries))
    else:
        show_history(entries, name)


@policy.command("promote")
def policy_promote(tenant: Tenant, why: Why = "", yes: Yes = False) -> None:
    """Let everything that was learned serve at once, sure or not."""
    _order("promote", tenant, why, "Let what is not proven yet serve", yes)


@policy.command("rollback")
def policy_rollback(tenant: Tenant, why: Why = "", yes: Yes = False) -> None:
    """Let the version before serve again, and promote nothing for a while."""
    _order("rollback", tenant, why, "Go back to the version before", yes)


@policy.command("bootstrap")
def policy_bootstrap(tenant: Tenant, why: Why = "") -> None:
    """Teach a tenant without history by templates: simple, moderate and complex queries."""
    _order("bootstrap", tenant, why, "", yes=True)


def _order(order: str, tenant: str, why: str, question: str, yes: bool) -> None:
    from learning.config import LearningConfig
    from memstream.wiring import build_pupil

    name = check_tenant(tenant)
    if not yes and sys.stdin.isatty():
        typer.confirm(f"{question} for {name}?", abort=True, err=True)
    actor = getpass.getuser()

    async def carry_out(store: "Store", settings: Settings) -> int:
        pupil = build_pupil(settings, names_of(settings), LearningConfig())
        taught = await store.policies.control(
            name, order, pupil, now(), actor=actor, why=why[:MOST_REASON]
        )
        return taught.version

    version = _with_store(carry_out)
    console.print(f"version {version} serves {escape(name)}", highlight=False)


def _with_store(work: Callable[["Store", Settings], Awaitable[T]]) -> T:
    settings = with_running_parts(load_settings())

    async def do() -> T:
        from memstream.parts import open_store  # asyncpg and numpy are slow to import

        store = await open_store(settings)
        try:
            return await work(store, settings)
        finally:
            await store.close()

    done: Any = run(do())
    result: T = done
    return result
