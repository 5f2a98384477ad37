"""What is said where surveys are begun, kept, and put away."""

from incrowd.studio import ready_surveys

CASES = {
    "an unknown template": lambda _: ready_surveys.ready_survey("opinions"),
}
