"""The conformance suite: what any policy and any environment must do, as functions to call.

`check_policy` and `check_environment` run every check of `POLICY_CHECKS` and
`ENVIRONMENT_CHECKS` and raise `CheckFailed` at the first promise that is broken.
"""

from thrifty.checks.environments import ENVIRONMENT_CHECKS, check_environment
from thrifty.checks.policies import POLICY_CHECKS, check_policy
from thrifty.checks.subject import Subject

__all__ = ["ENVIRONMENT_CHECKS", "POLICY_CHECKS", "Subject", "check_environment", "check_policy"]
