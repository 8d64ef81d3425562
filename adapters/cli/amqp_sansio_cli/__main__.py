"""`python -m amqp_sansio_cli` is the command `amqp-sansio`."""

from .main import main

raise SystemExit(main())
