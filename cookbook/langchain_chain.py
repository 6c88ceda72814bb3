"""The same chat with a long-term memory: five lines changed.

python langchain_chain.py monday "I have a grey cat called Miso."
python langchain_chain.py tuesday "What is my cat called?"
"""

import sys

from langchain_classic.chains import ConversationChain
from langchain_model import model

from memorai_core import Memory
from memorai_langchain import MemoraiMemory


def main(session: str, *texts: str) -> None:
    memory = Memory.open("memory.db")
    chain = ConversationChain(llm=model, memory=MemoraiMemory(memory=memory, user_id="alice", session_id=session))
    for text in texts:
        print(chain.predict(input=text))
    memory.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
