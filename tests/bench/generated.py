"""A few small benchmark records, as the data sets write them."""

import json
from pathlib import Path

RIBBON = "Ben says that his sourdough bread won a ribbon at the county fair."
POTTERY = "Ana tells him that she is going to start a class in pottery on Monday."

LOCOMO_SESSIONS = [
    [
        ("Ana", "Hello Ben, I adopted a grey cat named Pixel yesterday."),
        ("Ben", "Lovely! I am learning to bake sourdough bread."),
        ("Ana", "Pixel already sleeps on my piano."),
    ],
    [
        ("Ben", "My sourdough won a ribbon at the county fair."),
        ("Ana", "Wonderful news! I start a pottery class on Monday."),
        ("Ben", "I might take the train to Lisbon in June."),
        ("Ana", "Pottery suits you, and Lisbon is full of tiles."),
    ],
]


def locomo_sample(name: str = "conv-1", **changes: object) -> dict[str, object]:
    conversation: dict[str, object] = {"speaker_a": "Ana", "speaker_b": "Ben"}
    for number, turns in enumerate(LOCOMO_SESSIONS, start=1):
        conversation[f"session_{number}_date_time"] = f"1:56 pm on {number} May, 2023"
        conversation[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{place}", "text": text} for place, (speaker, text) in enumerate(turns, start=1)
        ]
    conversation["session_3_date_time"] = "1:56 pm on 3 May, 2023"
    questions = [
        {"question": "What is the name of Ana's cat?", "answer": "Pixel", "evidence": ["D1:1"], "category": 4},
        {"question": "What did Ben bake and win with?", "answer": "sourdough", "evidence": ["D1:2; D2:01"], "category": 1},
        {"question": "When does the pottery class start?", "answer": 8, "evidence": ["D:2:2"], "category": 2},
        {"question": "Would Ana like tiles?", "answer": "likely", "evidence": [], "category": 3},
        {"question": "Which city does Ben's dog live in?", "adversarial_answer": "Lisbon", "evidence": ["D2:3", "D9:9"], "category": 5},
    ]
    observation = {
        "session_1_observation": {
            "Ana": [["Ana adopted a grey cat named Pixel.", "D1:1"], ["Ana owns a piano that Pixel sleeps on.", "D1:3"]],
            "Ben": [["Ben is learning to bake sourdough bread.", "D1:2"]],
        },
        "session_2_observation": {
            "Ana": [["Ana starts a pottery class.", ["D2:2", "D2:4"]]],
            "Ben": [["Ben won a ribbon with his sourdough.", "D2:1"], ["Ben may travel to Lisbon.", "D2:3, D8:8"]],
        },
    }
    summary = {
        "session_1_summary": "Ana adopted a cat named Pixel. Ben is learning to bake bread.",
        "session_2_summary": f"{RIBBON} {POTTERY}",
    }
    return {
        "sample_id": name,
        "conversation": conversation,
        "qa": questions,
        "observation": observation,
        "session_summary": summary,
        **changes,
    }


def longmemeval_instance(name: str = "q1", **changes: object) -> dict[str, object]:
    sessions = [
        [
            {"role": "user", "content": "I graduated with a degree in marine biology.", "has_answer": True},
            {"role": "assistant", "content": "Congratulations on the degree!", "has_answer": False},
        ],
        [{"role": "user", "content": ""}, {"role": "assistant", "content": "How can I help with your garden?"}],
        [
            {"role": "user", "content": "My garden has tomatoes."},
            {"role": "assistant", "content": "Water the tomatoes daily.", "has_answer": True},
            {"role": "user", "content": "Thanks!"},
        ],
    ]
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": "What degree did I graduate with?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer": "marine biology",
        "answer_session_ids": ["s1"],
        "haystack_dates": ["2023/05/20 (Sat) 04:48", "2023/05/22 (Mon) 04:48", "2023/05/21 (Sun) 04:48"],
        "haystack_session_ids": ["s1", "s2", "s1"],
        "haystack_sessions": sessions,
        **changes,
    }


def write_locomo(folder: Path, *samples: dict[str, object]) -> Path:
    path = folder / "locomo.json"
    path.write_text(json.dumps(list(samples or (locomo_sample(),))), encoding="utf-8")
    return path


def write_longmemeval(folder: Path, *instances: dict[str, object]) -> Path:
    path = folder / "longmemeval.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in instances or (longmemeval_instance(),)), encoding="utf-8")
    return path
