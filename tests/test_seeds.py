"""Where randomness comes from."""

from typing import Any

import numpy as np
import pytest

from thrifty.errors import InvalidParameter
from thrifty.seeds import environment_seed, generator, policy_seed


def numbers(seed: Any) -> list[float]:
    return [float(number) for number in generator(seed).random(4)]


def test_the_same_seed_gives_the_same_numbers() -> None:
    assert numbers(3) == numbers(3) == numbers(np.int64(3))
    assert numbers(3) != numbers(4)
    assert numbers(np.random.SeedSequence(3)) == numbers(3)


def test_a_generator_is_used_as_it_is() -> None:
    source = np.random.default_rng(1)
    assert generator(source) is source


def test_without_a_seed_the_numbers_are_new() -> None:
    assert numbers(None) != numbers(None)


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, False, [1]])
def test_anything_else_is_refused(seed: Any) -> None:
    with pytest.raises(InvalidParameter, match="seed is"):
        generator(seed)


def test_policy_and_world_have_streams_of_their_own() -> None:
    streams = [
        numbers(make(seed)) for seed in range(50) for make in (policy_seed, environment_seed)
    ]
    assert len({tuple(stream) for stream in streams}) == 100


def test_a_stream_depends_on_the_seed_alone() -> None:
    first = numbers(policy_seed(7)), numbers(environment_seed(7))
    again = numbers(environment_seed(7)), numbers(policy_seed(7))
    assert first == again[::-1]
