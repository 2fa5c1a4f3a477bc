"""What tenants start from is a setting, for those who learn and for those who serve."""

from learning.config import LearningConfig
from memstream.settings import Settings
from memstream.wiring import build_pupil, prior_of
from retrieval.ranking import EQUAL, PRIOR
from topics import TopicNames


def test_tenants_start_from_what_the_setting_says():
    for name, prior in (("equal", EQUAL), ("shipped", PRIOR)):
        settings = Settings(prior=name)
        assert prior_of(settings) is prior
        served = build_pupil(settings, TopicNames(), LearningConfig()).serve(None, None, None)
        assert served == {f"rank/{feature}": weight for feature, weight in prior.items()}
    assert Settings().prior == "shipped"
