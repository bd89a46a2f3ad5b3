"""The panel of a policy: the policy that acts, and those that decide beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.confidence_sequences import LEVEL
from thrifty.fits import Fit
from thrifty.policy import Policy
from thrifty.rounds import Observation
from thrifty.service.comparison import BY_LOT, Result, ShadowComparison, ShadowResult
from thrifty.service.events import DEMOTED, PROMOTED, SHADOWED, Event
from thrifty.service.imagined import ImaginedCase
from thrifty.service.model import Model
from thrifty.service.panel_events import settings_from_body, settings_to_body
from thrifty.specification import WHEN_BETTER, PolicySpec, ShadowSettings

MIN_COMPARED = 0.95
"""Smallest share of comparable cases with which a shadow without traffic takes over by itself."""


@dataclass(frozen=True, slots=True)
class ShadowCase:
    """A case as a policy that did not decide it would have played it.

    Parameters
    ----------
    imagined : ImaginedCase
        Its purchases and its action.
    chance : float, optional
        Probability with which the deciding policy takes this action; None if it is not known.
    """

    imagined: ImaginedCase
    chance: float | None = None


@dataclass(frozen=True)
class LearntCase:
    """A case with its reward, for everybody who learns from it.

    Parameters
    ----------
    seen : Observation
        Everything that was known when the action was chosen.
    action : int
        Index of the action.
    reward : float
        The reward, in money.
    outcome : int, optional
        Index of the outcome.
    priced : array of bool, optional
        The features whose prices were observed; by default those that were bought.
    decider : str, optional
        Name of the policy that decided; None if nothing decided beside it.
    turn : int
        Number of panel events before the case.
    shadows : mapping
        The case as the others would have played it, by name.
    usual : bool
        True if the purchases of the case had a probability of more than one half together.
    """

    seen: Observation
    action: int
    reward: float
    outcome: int | None = None
    priced: NDArray[np.bool_] | None = None
    decider: str | None = None
    turn: int = 0
    shadows: Mapping[str, ShadowCase] = field(default_factory=dict)
    usual: bool = False

    @property
    def result(self) -> Result:
        """Reward and cost."""
        return Result(self.reward, self.seen.total_cost)


@dataclass(slots=True)
class PanelMember:
    """A policy of a panel.

    Parameters
    ----------
    model : Model
        What it has learnt.
    joined : int
        Number of panel events before the one that added it.
    comparison : ShadowComparison, optional
        Its comparison with the acting policy; None for that policy itself.
    """

    model: Model
    joined: int = 0
    comparison: ShadowComparison | None = None

    @property
    def spec(self) -> PolicySpec:
        """Its specification."""
        return self.model.spec

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name

    @property
    def key(self) -> tuple[str, int]:
        """Name and time of joining; a shadow that joins again is a new one."""
        return self.name, self.joined


class Panel:
    """The policies that decide under one name: one acts, the others are its shadows.

    A panel changes with every case that is learnt, every fit that is used and every event that
    changes its members. Without shadows it behaves as its only member.

    Parameters
    ----------
    spec : PolicySpec
        The policy that acts at first.
    """

    def __init__(self, spec: PolicySpec) -> None:
        self.spec = spec
        self.members = [PanelMember(Model(spec))]
        self.settings = ShadowSettings()
        self.rounds_learnt = self.fits_applied = self.turn = 0
        self.former: list[str] = []
        self.is_automatic = False
        self.digests = {spec.name: spec.digest}

    @property
    def version(self) -> int:
        """Number of changes so far."""
        return self.rounds_learnt + self.fits_applied + self.turn

    @property
    def acting(self) -> PanelMember:
        """The policy that acts."""
        return self.members[0]

    @property
    def shadows(self) -> list[PanelMember]:
        """The policies that do not act, except for the first one's share of the cases."""
        return self.members[1:]

    @property
    def policy(self) -> Policy:
        """The policy that acts."""
        return self.acting.model.policy

    @property
    def is_plain(self) -> bool:
        """True if there has never been a shadow."""
        return self.turn == 0

    def named(self, name: str | None) -> PanelMember | None:
        """Return the member with a name; None stands for the policy of the panel itself."""
        wanted = self.spec.name if name is None else name
        return next((member for member in self.members if member.name == wanted), None)

    def decider(self, key: str) -> PanelMember:
        """Return the member that decides a new case; cases with the same key get the same one.

        Parameters
        ----------
        key : str
            Key or id of the case.

        Returns
        -------
        PanelMember
            The first shadow for its share of all keys, else the acting policy.
        """
        if not self.shadows or not self.settings.traffic:
            return self.acting
        digest = blake2b(f"{self.spec.id}/{key}".encode(), digest_size=8).digest()
        is_chosen = int.from_bytes(digest) / 2**64 < self.settings.traffic
        return self.members[1] if is_chosen else self.acting

    def learn(self, case: LearntCase) -> None:
        """Let every member learn what it is entitled to, and compare the shadows.

        The decider learns the case. Another member learns it if it would have bought nothing else
        than what is known, and would have taken the same action or the outcome tells its reward.

        Parameters
        ----------
        case : LearntCase
            The case.
        """
        self.rounds_learnt += 1
        if case.turn == self.turn:
            self._compare(case)
        decider = self.named(case.decider)
        for member in self.members:
            if member is decider:
                member.model.learn(
                    case.seen, case.action, case.reward, case.outcome, priced=case.priced
                )
            elif member.name in case.shadows:
                self._learn_beside(member, case, case.shadows[member.name].imagined)

    def _learn_beside(self, member: PanelMember, case: LearntCase, own: ImaginedCase) -> None:
        reward = self._own_reward(case, own)
        if own.action is not None and reward is not None:
            member.model.learn(own.seen(case.seen), own.action, reward, case.outcome)

    def _own_reward(self, case: LearntCase, own: ImaginedCase) -> float | None:
        """Return the reward of a shadow's action, if it is known."""
        if own.action == case.action:
            return case.reward
        outcomes = self.spec.problem.outcomes
        if own.action is None or case.outcome is None or outcomes is None:
            return None
        return outcomes.reward(own.action, case.outcome)

    def _compare(self, case: LearntCase) -> None:
        for member in self.shadows:
            comparison = member.comparison
            assert comparison is not None
            decided = case.decider == member.name
            if comparison.method == BY_LOT:
                comparison.add_by_lot(case.result, decided=decided)
            elif case.decider == self.acting.name:
                own = case.shadows.get(member.name)
                known = own is not None and own.imagined.action is not None and case.usual
                result = self._shadow_result(case, own) if own is not None and known else None
                same = own is not None and own.imagined.action == case.action
                comparison.add_by_coverage(case.result, result, same=same)

    def _shadow_result(self, case: LearntCase, own: ShadowCase) -> ShadowResult:
        cost = own.imagined.seen(case.seen).total_cost
        reward = self._own_reward(case, own.imagined)
        if self.spec.problem.outcomes is not None:
            return ShadowResult(cost, reward)
        return ShadowResult(cost, reward, own.chance or 0.0)

    def change(self, event: Event) -> None:
        """Apply an event that changes the members.

        Parameters
        ----------
        event : Event
            An event of one of `PANEL_KINDS`.
        """
        if event.step != self.turn:
            raise ValueError(f"the next event of the panel is {self.turn}")
        self.turn += 1
        if event.kind == SHADOWED:
            self._set_shadows(settings_from_body(event.body))
        elif event.kind == PROMOTED:
            self.former.append(self.acting.name)
            self._let_act(event.body["policy"])
            self.is_automatic = self.settings.promote == WHEN_BETTER
        elif event.kind == DEMOTED:
            if self.former.pop() != event.body["policy"]:
                raise ValueError("another policy acted before")
            self._let_act(event.body["policy"])
            self.is_automatic = False
        self._restart_comparisons()

    def _set_shadows(self, settings: ShadowSettings) -> None:
        wanted = {self.spec.name: self.spec} | {spec.name: spec for spec in settings.specs}
        kept = [member for member in self.members if member.name in wanted]
        if not kept or kept[0] is not self.acting:
            raise ValueError(f"{self.acting.name} acts, so it cannot be removed")
        known = {member.name for member in kept}
        added = [self._new(spec) for name, spec in wanted.items() if name not in known]
        self.members, self.settings = [*kept, *added], settings
        if self.acting.name == self.spec.name:  # then the first shadow is the first in the file
            order = list(wanted)
            self.members.sort(key=lambda member: order.index(member.name))
        self.former = [name for name in self.former if name in wanted]
        self.is_automatic = settings.promote == WHEN_BETTER
        self.digests |= {name: spec.digest for name, spec in wanted.items()}

    def _new(self, spec: PolicySpec) -> PanelMember:
        return PanelMember(Model(spec, self._stream(spec)), self.turn)

    def _stream(self, spec: PolicySpec) -> str:
        """Shadows draw other random numbers than the acting policy, to be independent of it."""
        return "" if spec.name == self.spec.name else spec.name

    def _let_act(self, name: str) -> None:
        member = self.named(name)
        if member is None or member is self.acting:
            raise ValueError(f"{name!r} is no shadow")
        place = self.members.index(member)
        self.members[0], self.members[place] = member, self.members[0]

    def _restart_comparisons(self) -> None:
        for place, member in enumerate(self.members):
            traffic = self.settings.traffic if place == 1 else 0.0
            member.comparison = (
                ShadowComparison.start(self.spec.problem, traffic) if place else None
            )

    def candidate(self) -> PanelMember | None:
        """Return the shadow that is to take over by itself, if any.

        Returns
        -------
        PanelMember or None
            The first whose interval lies above the margin. A shadow without traffic must also be
            comparable in `MIN_COMPARED` of the cases. The shadows share the probability of a wrong
            interval, so that more of them do not make a wrong promotion more probable.
        """
        if not self.is_automatic or not self.shadows:
            return None
        level = 1 - (1 - LEVEL) / len(self.shadows)
        for member in self.shadows:
            comparison = member.comparison
            assert comparison is not None
            enough = (
                comparison.method == BY_LOT
                or comparison.compared >= MIN_COMPARED * comparison.cases > 0
            )
            if enough and comparison.sequence.interval(level)[0] > self.settings.margin:
                return member
        return None

    def due_fits(self) -> Iterator[tuple[PanelMember, Fit]]:
        """Yield the fits that members wait for."""
        for member in self.members:
            fit = member.model.due_fit
            if fit is not None:
                yield member, fit

    @property
    def due_fit(self) -> Fit | None:
        """The fit that the acting policy waits for."""
        return self.acting.model.due_fit

    def is_due(self, number: int, name: str | None = None) -> bool:
        """Return True if a member waits for the fit with this number."""
        member = self.named(name)
        return member is not None and member.model.is_due(number)

    def apply_fit(self, number: int, result: bytes, name: str | None = None) -> bool:
        """Use the result of a fit, or drop it if it is stale.

        Parameters
        ----------
        number : int
            Number of the fit.
        result : bytes
            Its result.
        name : str, optional
            The member; by default the policy of the panel itself.

        Returns
        -------
        bool
            True if the member uses the result.
        """
        member = self.named(name)
        is_used = member is not None and member.model.apply_fit(number, result)
        self.fits_applied += is_used
        return is_used

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that the members have learnt, and the agents they started from."""
        first, *others = sorted(self.members, key=lambda member: member.name != self.spec.name)
        state = first.model.state()
        for member in others:
            arrays = dict(member.model.state())
            if member.spec.agent is not None:
                arrays[_AGENT] = np.frombuffer(member.spec.agent, np.uint8)
            state |= {_array_name(member, name): array for name, array in arrays.items()}
        return state

    def describe(self) -> dict[str, Any] | None:
        """Return everything else as JSON values; None if there has never been a shadow."""
        if self.is_plain:
            return None
        bare = [replace(spec, agent=None) for spec in self.settings.specs]
        return {
            "settings": settings_to_body(replace(self.settings, specs=tuple(bare))),
            "members": [
                {
                    "name": member.name,
                    "joined": member.joined,
                    "comparison": member.comparison and member.comparison.to_dict(),
                }
                for member in self.members
            ],
            "counts": [self.rounds_learnt, self.fits_applied, self.turn],
            "former": list(self.former),
            "is_automatic": self.is_automatic,
            "digests": dict(self.digests),
        }

    def restore(
        self, state: Mapping[str, NDArray[Any]], described: Mapping[str, Any] | None
    ) -> None:
        """Restore what `state` and `describe` returned."""
        own = {name: array for name, array in state.items() if not name.startswith(_PREFIX)}
        base = self.acting
        base.model.restore(own)
        if described is None:
            self.rounds_learnt = base.model.rounds_learnt
            self.fits_applied = base.model.fits_applied
            return
        bare = settings_from_body(described["settings"])
        members = {self.spec.name: base}
        for spec in bare.specs:
            arrays = _arrays_of(spec.name, state)
            agent = arrays.pop(_AGENT, None)
            whole = replace(spec, agent=None if agent is None else agent.tobytes())
            members[spec.name] = PanelMember(Model(whole, self._stream(whole)))
            members[spec.name].model.restore(arrays)
        specs = tuple(members[spec.name].spec for spec in bare.specs)
        self.settings = replace(bare, specs=specs)
        self.members = [_restored(members[plain["name"]], plain) for plain in described["members"]]
        self.rounds_learnt, self.fits_applied, self.turn = described["counts"]
        self.former = list(described["former"])
        self.is_automatic = described["is_automatic"]
        self.digests = dict(described["digests"])


_PREFIX, _AGENT = "shadow/", "service.agent"


def _array_name(member: PanelMember, name: str) -> str:
    return f"{_PREFIX}{member.name}/{name}"


def _arrays_of(name: str, state: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    prefix = f"{_PREFIX}{name}/"
    return {
        key.removeprefix(prefix): array for key, array in state.items() if key.startswith(prefix)
    }


def _restored(member: PanelMember, plain: Mapping[str, Any]) -> PanelMember:
    comparison = plain["comparison"]
    member.joined = plain["joined"]
    member.comparison = None if comparison is None else ShadowComparison.from_dict(comparison)
    return member
