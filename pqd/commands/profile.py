"""``pqd profile``: how far the whole copy is from the private table, without a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.progress import Progress, silent

if TYPE_CHECKING:
    from deciders import Noise
    from pqd.accounting.accountant import Accountant
    from pqd.distances.profile_parameters import ProfileParameters
    from pqd.engine.scan_plan import PrivacyUnit
    from reports.models.profile import ProfileReport


def run_profile(  # noqa: PLR0913 - those of a profile, read
    private: object | None,
    synthetic: object,
    parameters: ProfileParameters,
    noise: Noise,
    progress: Progress = silent,
    *,
    accountant: Accountant | None = None,
    unit: PrivacyUnit | None = None,
    dry: bool = False,
) -> ProfileReport:
    """Profile with ``noise``; see ``pqd.profile``.  Without an accountant no account is kept.

    A ``dry`` run measures nothing; it alone may lack the private table.
    """
    raise NotImplementedError
