"""The broker's model, which knows no wire and no version: exchanges, queues, consumers, transactions."""
