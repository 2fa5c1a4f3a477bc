"""Commands for what a tenant has its own way."""

from typing import Annotated

import typer
from pydantic import JsonValue

from memstream.cli.shell import app, run
from memstream.display import show_tenant
from memstream.runtime import with_running_parts
from memstream.settings import load_settings
from memstream.tenant_values import check_tenant, read_changes
from models import TenantOverrides

tenant = typer.Typer(help="See and set what a tenant has its own way.", no_args_is_help=True)
app.add_typer(tenant, name="tenant")
NamedTenant = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant.")]


@tenant.command("show")
def tenant_show(
    tenant_id: NamedTenant,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show what a tenant is served by, and whether that is its own or the service's default."""
    _show_after(check_tenant(tenant_id), {}, as_json)


@tenant.command("set")
def tenant_set(
    tenant_id: NamedTenant,
    assignments: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE…", help="What to set; KEY=default goes back to it."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Set what a tenant has its own way, while the service runs."""
    _show_after(check_tenant(tenant_id), read_changes(assignments or ()), as_json)


def _show_after(tenant_id: str, changes: dict[str, JsonValue], as_json: bool) -> None:
    from memstream.parts import open_store  # asyncpg and numpy are slow to import

    settings = with_running_parts(load_settings())

    async def change() -> TenantOverrides:
        store = await open_store(settings)
        try:
            if changes:
                return await store.override(tenant_id, changes)
            return await store.overrides(tenant_id)
        finally:
            await store.close()

    show_tenant(tenant_id, run(change()), settings.service(), as_json)
