"""Pages of experiments, in their order."""

from benchmarks.experiments.batches import BATCHES
from benchmarks.experiments.chance import CHANCE
from benchmarks.experiments.comparisons import COMPARISONS
from benchmarks.experiments.damages import DAMAGES
from benchmarks.experiments.gates import GATES_PAGE
from benchmarks.experiments.persons import PERSONS
from benchmarks.experiments.plans import PLANS
from benchmarks.experiments.profiles import PROFILES
from benchmarks.experiments.record import Topic
from benchmarks.experiments.relations import RELATIONS
from benchmarks.experiments.risk import RISK
from benchmarks.experiments.verdict_words import WORDS_OF_VERDICTS

TOPICS: tuple[Topic, ...] = (
    WORDS_OF_VERDICTS, PLANS, BATCHES, PROFILES, RELATIONS, CHANCE, COMPARISONS, DAMAGES,
    GATES_PAGE, PERSONS, RISK,
)  # fmt: skip
