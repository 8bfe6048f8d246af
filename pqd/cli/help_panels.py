"""Help of a command: its options in panels, the usual ones by default and all with --help-all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

# Panels in the order of the help, with the names of their options.
PANELS: Mapping[str, tuple[str, ...]] = {
    "Tables": (
        *("columns", "cells", "cells_from", "bounds", "type_", "key", "metadata", "private_rows"),
        *("decimal", "thousands", "dates", "missing"),
        *("held_out", "held_out_rows", "scale", "file", "init", "schema", "threads"),
    ),
    "Question": (
        *("query", "queries", "rule", "bins", "tau", "tau_of", "alpha", "ways", "distance"),
        *("relations", "target", "marginals", "weight", "only", "baseline", "update_baseline"),
        *("decider", "decider_option", "estimator", "mechanism", "mechanism_option", "weight_of"),
        *("isotonic", "with_references", "outside"),
        *("copy_epsilon", "zoom", "secret", "known", "attacks", "learner", "check"),
    ),
    "Price": (
        *("epsilon", "total_epsilon", "sharing", "sure", "at_most", "gate", "names", "delta"),
        *(
            "risk",
            "reference_epsilon",
            "dry_run",
            "anyway",
            "strict",
            "ledger",
            "dataset",
            "held_out_dataset",
            "fresh",
        ),
    ),
    "People": ("unit", "max_rows", "row_is_person"),
    "Output": ("html", "json", "markdown", "output", "table"),
    "Display": ("all", "verbose", "quiet", "explain", "help", "help_all"),
}
# Options that the short help shows, if a command has more options than ``_FEW``.
USUAL = frozenset(
    {
        *("query", "queries", "tau", "epsilon", "total_epsilon", "sure", "at_most", "bounds"),
        *(
            "unit",
            "gate",
            "columns",
            "only",
            "dry_run",
            "mechanism",
            "table",
            "html",
            "all",
            "explain",
        ),
        *("risk", "held_out", "secret", "known"),
        *("help", "help_all"),
    }
)
_FEW = 12
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
_ORDER = {name: place for place, name in enumerate(_PANEL_OF)}
_WHOLE = "pqd.help_all"


class PanelCommand(TyperCommand):
    """Command whose options stand in panels; ``--help`` shows the usual ones."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401 - those of Typer
        super().__init__(*arguments, **settings)
        options = [each for each in self.params if isinstance(each, TyperOption)]
        self._long = len(options) > _FEW
        # Every command has --help-all; of a short one it shows what --help shows.
        whole = _help_all()
        whole.hidden = not self._long
        options.append(whole)
        self.params.append(whole)
        if self._long:
            for option in options:
                option.rich_help_panel = _PANEL_OF.get(option.name or "")
            others = [each for each in self.params if not isinstance(each, TyperOption)]
            options.sort(key=lambda option: _ORDER.get(option.name or "", -1))
            self.params = [*others, *options]

    def get_help_option(self, ctx: typer._click.Context) -> Any:  # noqa: ANN401 - Typer's own
        """Option ``--help``, in the last panel."""
        option = super().get_help_option(ctx)
        if option is not None and self._long:
            vars(option)["rich_help_panel"] = _PANEL_OF["help"]
        return option

    def format_help(self, ctx: typer._click.Context, formatter: Any) -> None:  # noqa: ANN401
        """Write the help: all options after ``--help-all``, else the usual ones."""
        if not self._long or ctx.meta.get(_WHOLE):
            super().format_help(ctx, formatter)
            return
        with self._only_usual(ctx):
            super().format_help(ctx, formatter)

    @contextmanager
    def _only_usual(self, ctx: typer._click.Context) -> Iterator[None]:
        """Context in which unusual options are hidden, and a last line says how many."""
        rare = [
            each
            for each in self.params
            if isinstance(each, TyperOption) and each.name not in USUAL and not each.hidden
        ]
        epilog = self.epilog
        self.epilog = f"{len(rare)} more options: {ctx.command_path} --help-all"
        for option in rare:
            option.hidden = True
        try:
            yield
        finally:
            self.epilog = epilog
            for option in rare:
                option.hidden = False


def _help_all() -> TyperOption:
    """Option ``--help-all``, which shows the whole help and ends the command."""

    def show(ctx: typer._click.Context, _: object, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            ctx.meta[_WHOLE] = True
            typer.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return TyperOption(
        param_decls=["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show all options and exit.",
    )
