"""Conformance checks for your own policies and environments.

`check_policy` and `check_environment` run all checks of `POLICY_CHECKS` and `ENVIRONMENT_CHECKS`,
and raise `CheckFailed` at the first check that fails.
"""

from thrifty.checks.environments import ENVIRONMENT_CHECKS, check_environment
from thrifty.checks.policies import POLICY_CHECKS, check_policy
from thrifty.checks.subject import Subject

__all__ = ["ENVIRONMENT_CHECKS", "POLICY_CHECKS", "Subject", "check_environment", "check_policy"]
