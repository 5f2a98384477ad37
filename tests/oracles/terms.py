"""What whoever runs a collection about faculties and sickness states of it."""

from incrowd.collection.mixer.init import ShufflerTerms
from tests.oracles.make_vectors import CONFIGURATION


def stated(**changes):
    return ShufflerTerms(
        **{
            "title": "F",
            "questions": {"faculty": "Which faculty?", "sick": "Sick?"},
            "period": "now",
            "opens": "2026-11-01T00:00:00Z",
            "closes": "2026-11-02T00:00:00Z",
            "disposes": "2026-11-02T00:00:00Z",
            "codes": True,
            "shuffler": "https://mix.example",
            "collector": "https://count.example",
            "key_configuration": CONFIGURATION.encoded.hex(),
        }
        | changes
    )
