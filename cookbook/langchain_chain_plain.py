"""A chat through LangChain's ConversationChain, which forgets everything when the program ends.

python langchain_chain_plain.py monday "I have a grey cat called Miso."
"""

import sys

from langchain_classic.chains import ConversationChain
from langchain_model import model


def main(session: str, *texts: str) -> None:
    chain = ConversationChain(llm=model)
    for text in texts:
        print(chain.predict(input=text))


if __name__ == "__main__":
    main(*sys.argv[1:])
