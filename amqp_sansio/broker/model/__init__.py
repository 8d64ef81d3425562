"""The broker's model: exchanges, queues, consumers and transactions, independent of wire and version."""
