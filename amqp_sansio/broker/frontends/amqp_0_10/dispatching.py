"""Which function executes which command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from .... import amqp_0_10 as records
from . import declaring, staging, subscribing, transacting

if TYPE_CHECKING:
    from typing import TypeAlias

    from .answers import Result
    from .frontend import ZeroTenFrontend
    from .sessions import ServedSession

    Execute: TypeAlias = Callable[[ZeroTenFrontend, ServedSession, Any, Any], Result]

COMMANDS: Final[Mapping[type[Any], Execute]] = {
    records.MessageAccept: subscribing.accept,
    records.MessageReject: subscribing.reject,
    records.MessageRelease: subscribing.release,
    records.MessageAcquire: subscribing.acquire,
    records.MessageResume: subscribing.resume,
    records.MessageSubscribe: subscribing.subscribe,
    records.MessageCancel: subscribing.cancel,
    records.MessageFlush: subscribing.flush,
    records.TxSelect: transacting.tx_select,
    records.TxCommit: transacting.tx_commit,
    records.TxRollback: transacting.tx_rollback,
    records.DtxSelect: transacting.dtx,
    records.DtxStart: transacting.dtx,
    records.DtxEnd: transacting.dtx,
    records.DtxPrepare: transacting.dtx,
    records.DtxCommit: transacting.dtx,
    records.DtxRollback: transacting.dtx,
    records.DtxForget: transacting.dtx,
    records.DtxRecover: transacting.dtx,
    records.DtxGetTimeout: transacting.dtx,
    records.DtxSetTimeout: transacting.dtx,
    records.ExchangeDeclare: declaring.declare_exchange,
    records.ExchangeDelete: declaring.delete_exchange,
    records.ExchangeQuery: declaring.query_exchange,
    records.ExchangeBind: declaring.bind,
    records.ExchangeUnbind: declaring.unbind,
    records.ExchangeBound: declaring.bound,
    records.QueueDeclare: declaring.declare_queue,
    records.QueueDelete: declaring.delete_queue,
    records.QueuePurge: declaring.purge_queue,
    records.QueueQuery: declaring.query_queue,
    records.FileQos: staging.qos,
    records.FileConsume: staging.consume_files,
    records.FileCancel: staging.cancel_files,
    records.FileOpen: staging.open_file,
    records.FileOpenOk: staging.take_open_ok,
    records.FileStage: staging.stage,
    records.FilePublish: staging.publish_file,
    records.FileAck: staging.ack,
    records.FileReject: staging.reject,
    records.StreamQos: staging.stream_qos,
    records.StreamConsume: staging.consume_stream,
    records.StreamCancel: staging.cancel_stream,
    records.StreamPublish: staging.publish_stream,
}
"""Those that the engine doesn't execute itself, but message.transfer, which comes as an event of its own."""
