"""Single calls of a policy's steps."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thrifty import NCCUCRL2, UCB1, Observation, Problem
from thrifty.kernels.baselines import ucb1
from thrifty.kernels.runtime import single_call
from thrifty.kernels.runtime.steps import BoundSteps
from thrifty.policies import POLICIES

PROBLEM = Problem.anonymous((2, 3), 2)
compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)


def test_steps_work_on_the_arrays_of_the_state() -> None:
    state = ucb1.initial(2, 0.5)
    bound = BoundSteps(state)
    codes, costs = np.array([0, -1]), np.array([0.1, np.nan])
    before = single_call.action_values(bound.action_values, bound.state, codes)
    assert single_call.update(bound.update, bound.has_room, bound.state, codes, costs, 1, 1.0, 0)
    assert state.counts.tolist() == [1, 2]
    after = single_call.action_values(bound.action_values, bound.state, codes)
    assert after.tolist() != before.tolist()
    again = BoundSteps(state)
    assert (
        single_call.action_values(again.action_values, again.state, codes).tolist()
        == after.tolist()
    )


def test_without_a_step_for_the_action_the_first_best_one_is_taken() -> None:
    bound = BoundSteps(ucb1.initial(3, 0.5))
    codes, draws = np.array([0, -1]), np.zeros(0)
    for available, action in (([True] * 3, 0), ([False, False, True], 2)):
        chosen = single_call.choose_action(
            bound.choose_action,
            bound.values_for_action,
            bound.state,
            codes,
            np.array(available),
            draws,
            0,
        )
        assert chosen == action


@compiled_only
def test_an_error_in_a_step_reaches_the_caller() -> None:
    bound = BoundSteps(ucb1.initial(2, 0.5)._replace(counts=np.zeros(2, np.int64)))
    with pytest.raises(ZeroDivisionError):
        single_call.action_values(bound.action_values, bound.state, np.array([0, -1]))


def played(policy: NCCUCRL2 | UCB1, rounds: int, seed: int = 0) -> list[int]:
    rng = np.random.default_rng(seed)
    actions = []
    for _ in range(rounds):
        mask = policy.choose_features().mask
        codes = np.where(mask, rng.integers(0, [2, 3]), -1)
        seen = Observation(codes, np.where(mask, 0.05, np.nan))
        actions.append(policy.choose_action(seen))
        policy.update(seen, actions[-1], float(rng.random() < 0.5))
    return actions


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda policy: pickle.loads(pickle.dumps(policy))]
)
def test_a_copy_has_arrays_of_its_own(copied) -> None:  # type: ignore[no-untyped-def]
    policy = NCCUCRL2(PROBLEM, horizon=500, window=50, cost_range=0.05, seed=1)
    played(policy, 60)
    twin = copied(policy)
    first = played(policy, 60, seed=1)
    assert played(twin, 60, seed=1) == first
    states = (agent.get_state() for agent in (policy, twin))
    assert len({str({k: v.tolist() for k, v in state.items()}) for state in states}) == 1


def test_a_state_that_is_replaced_is_bound_again() -> None:
    policy = UCB1(PROBLEM, seed=1)
    before = policy.get_state()
    seen = Observation([-1, -1], [np.nan, np.nan])
    at_first = policy.action_values(seen)
    played(policy, 20)
    policy.set_state(before)
    after = policy.action_values(seen)
    assert at_first is not None
    assert after is not None
    assert after.tolist() == at_first.tolist()


COUNT = """
import numba, sys
from thrifty.simulation import warm_up
from thrifty.kernels.runtime import single_call
warm_up(sys.argv[1])
from thrifty.kernels.ncc import ncc_ucrl2 as kernel
functions = (
    single_call.choose_features, single_call.choose_action, single_call.update,
    kernel.choose_features, kernel.choose_action, kernel.update,
)
print([len(function.signatures) for function in functions])
print(sum(sum(function.stats.cache_hits.values()) for function in functions))
import numpy as np
from thrifty import Observation, Problem
from thrifty.policies import policy_named
problem = Problem.anonymous((3, 2, 4), 3)
policy = policy_named(sys.argv[1])(problem, horizon=100, seed=0)
policy.choose_features()
seen = Observation([2, -1, 0], [0.1, np.nan, 0.2])
action = policy.choose_action(seen, available=[True, False, True])
policy.update(seen, action, np.float64(1.0))
print([len(function.signatures) for function in functions])
"""


@compiled_only
def test_after_warming_up_nothing_more_is_compiled() -> None:
    """Neither in this process nor, as machine code is kept on disk, in another one."""
    command = [sys.executable, "-c", COUNT, "ncc-ucrl2"]
    for _ in range(2):
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        first, hits, later = run.stdout.splitlines()
    assert first == later == "[1, 1, 1, 1, 1, 1]"
    assert int(hits) == 6


def test_the_command_compiles_what_it_is_told() -> None:
    thrifty = Path(sys.executable).with_name("thrifty")
    run = subprocess.run([thrifty, "warmup", "uniform", "ucb1"], capture_output=True, text=True)
    assert run.returncode == 0
    assert run.stdout.startswith("Compiled uniform, ucb1 to ")
    unknown = subprocess.run([thrifty, "warmup", "ucb2"], capture_output=True, text=True)
    assert unknown.returncode == 2
    assert all(name in unknown.stderr for name in POLICIES)
