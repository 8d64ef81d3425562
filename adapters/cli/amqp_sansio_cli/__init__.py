"""The command `amqp-sansio`: replays, lints and records AMQP traffic."""
