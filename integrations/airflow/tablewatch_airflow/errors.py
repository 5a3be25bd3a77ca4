"""Why a task fails.

AirflowException
├── ChecksFailed            a check failed
├── ChecksNotEvaluated      a check could not be evaluated, or nothing was checked
├── ReleaseOnHold           a release must not leave
└── NotAnswered             Tablewatch did not answer in time, or not in a way that can be read: trying again may help
AirflowFailException
└── Refused                 the request is wrong, or not allowed: trying again does not help
"""

from airflow.sdk.exceptions import AirflowException, AirflowFailException


class ChecksFailed(AirflowException):
    """A check failed."""


class ChecksNotEvaluated(AirflowException):
    """A check could not be evaluated: that is no pass."""


class ReleaseOnHold(AirflowException):
    """A release is on hold, or was not approved."""


class NotAnswered(AirflowException):
    """Tablewatch could not be asked, or did not answer in time."""


class Refused(AirflowFailException):
    """Tablewatch refuses the request; a retry would be refused too."""
