import numpy as np
import pytest

from memorai_core.bench.annotations import AnnotationAnalyzer, annotations_for, read_annotations
from memorai_core.bench.baselines.analysis import session_tail
from memorai_core.bench.datasets import open_dataset
from memorai_core.bench.memory_system import MemoryFiles
from memorai_core.bench.questions import message_ids
from memorai_core.errors import ConfigurationError
from memorai_core.flow import run
from memorai_core.indexing.extractive import ExtractiveAnalyzer
from memorai_core.memory import Memory
from memorai_core.settings import Settings

from .fakes import one_case
from .generated import POTTERY, RIBBON, locomo_sample, longmemeval_instance, write_longmemeval


def test_statements_keep_the_turns_they_rest_on(tmp_path):
    case, _, _ = one_case(tmp_path)
    found = read_annotations(case.record, message_ids(case.conversation))
    assert set(found) == {"session_1", "session_2"}
    cited = {statement.text: statement.source_ids for one in found.values() for statement in one.statements}
    assert cited["Ana starts a pottery class."] == ("D2:2", "D2:4")
    assert cited["Ben may travel to Lisbon."] == ("D2:3",)
    assert found["session_1"].summary.startswith("Ana adopted")


def analysed(case, layout, number, segmentation="session"):
    found = read_annotations(case.record, message_ids(case.conversation))
    sizes = [len(session.messages) for session in case.conversation.sessions]
    first = sum(sizes[:number])
    tail = session_tail("u", case.conversation.sessions[number].session_id, layout, range(first, first + sizes[number]))
    analyzer = AnnotationAnalyzer(found, ExtractiveAnalyzer(segmentation=segmentation))
    return run(analyzer.analyze(tail, np.eye(sizes[number], dtype=np.float32)), None)


def test_a_statement_becomes_triplets_that_cite_its_turns(tmp_path):
    case, layout, _ = one_case(tmp_path)
    (segment,) = analysed(case, layout, 1).segments
    assert segment.summary == f"{RIBBON} {POTTERY}"
    pottery = [triplet for triplet in segment.triplets if triplet.description == "Ana starts a pottery class."]
    assert {(triplet.subject, triplet.origin) for triplet in pottery} == {("Ana", "annotation")}
    assert {triplet.source_turns for triplet in pottery} == {("4", "6")}
    assert any("pottery" in triplet.object for triplet in pottery)
    assert not any("Ana" in triplet.object for triplet in pottery)


def test_a_statement_over_two_segments_is_told_in_each(tmp_path):
    case, layout, _ = one_case(tmp_path)
    segments = analysed(case, layout, 1, "turn").segments
    cited = [{triplet.source_turns for triplet in segment.triplets} for segment in segments]
    assert cited == [{("3",)}, {("4",)}, {("5",)}, {("6",)}]
    assert [segment.summary for segment in segments][:2] == [RIBBON, POTTERY]
    assert segments[3].made_by == "extractive"


def test_another_speaker_who_is_named_is_an_object_of_that_name(tmp_path):
    sample = locomo_sample(observation={"session_1_observation": {"Ana": [["Ana told Ben about her cat.", "D1:1"]]}})
    case, layout, _ = one_case(tmp_path, sample)
    (segment,) = analysed(case, layout, 0).segments
    assert "Ben" in {triplet.object for triplet in segment.triplets}


def test_they_go_through_a_memory_beside_the_sentence_layer(tmp_path):
    case, _, embedder = one_case(tmp_path)
    files = MemoryFiles(lambda case, settings: annotations_for(case, ExtractiveAnalyzer()), embedder)
    indexed = files.of(case, Settings())
    with Memory.open(indexed.path, embedder=embedder) as memory:
        evidence = memory.retrieve("pottery class", user_id="conv-1", k=7)
    assert {triplet.origin for triplet in evidence.triplets} == {"annotation", "extractive"}
    files.close()
    assert not indexed.path.exists()


def test_a_data_set_without_annotations_is_told(tmp_path):
    (case,) = open_dataset("longmemeval", write_longmemeval(tmp_path, longmemeval_instance())).cases()
    with pytest.raises(ConfigurationError, match="observation"):
        annotations_for(case, ExtractiveAnalyzer())
