import com.azure.core.amqp.AmqpRetryMode;
import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.core.amqp.exception.AmqpException;
import com.azure.messaging.servicebus.ServiceBusClientBuilder;
import com.azure.messaging.servicebus.ServiceBusException;
import com.azure.messaging.servicebus.ServiceBusMessage;
import com.azure.messaging.servicebus.ServiceBusReceivedMessage;
import com.azure.messaging.servicebus.ServiceBusReceiverClient;
import com.azure.messaging.servicebus.ServiceBusSenderClient;
import com.azure.messaging.servicebus.administration.models.CorrelationRuleFilter;
import com.azure.messaging.servicebus.administration.models.CreateRuleOptions;
import com.azure.messaging.servicebus.administration.models.SqlRuleAction;
import com.azure.messaging.servicebus.administration.models.SqlRuleFilter;
import com.azure.messaging.servicebus.models.AbandonOptions;
import com.azure.messaging.servicebus.models.CompleteOptions;
import com.azure.messaging.servicebus.models.DeadLetterOptions;
import com.azure.messaging.servicebus.models.DeferOptions;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import com.azure.messaging.servicebus.models.SubQueue;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Scenarios on azure-messaging-servicebus. */
final class ServiceBus implements Program.Service {
    private interface Call {
        void run() throws Exception;
    }

    private static final Duration WAIT = Duration.ofSeconds(5);
    // Seconds until it has found out that its connection is gone, and opened another.
    private static final Duration LONG = Duration.ofSeconds(15);
    private static final Duration SHORT = Duration.ofSeconds(1);

    private final int port;
    private final ServiceBusClientBuilder builder;
    private final List<AutoCloseable> opened = new ArrayList<>();

    private ServiceBus(int port) {
        this.port = port;
        AmqpRetryOptions retry = new AmqpRetryOptions().setMode(AmqpRetryMode.FIXED).setMaxRetries(1)
            .setDelay(Duration.ofMillis(10)).setTryTimeout(Duration.ofSeconds(10));
        builder = new ServiceBusClientBuilder().retryOptions(retry).connectionString("Endpoint=sb://127.0.0.1:" + port
            + ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;"
            + "UseDevelopmentEmulator=true;");
    }

    public static void main(String[] arguments) throws Exception {
        Program.serve(ServiceBus::new);
    }

    @Override
    public void close() throws Exception {
        close(opened);
    }

    private static void close(List<AutoCloseable> opened) throws Exception {
        for (AutoCloseable each : opened) {
            each.close();
        }
    }

    private static String failure(Call call) throws Exception {
        try {
            call.run();
        } catch (ServiceBusException error) {
            return error.getReason().toString();
        } catch (AmqpException error) {
            return String.valueOf(error.getErrorCondition());
        } catch (IllegalStateException error) {
            return error.getClass().getSimpleName();
        }
        return "nothing";
    }

    private static List<Object> list(Object... values) {
        return new ArrayList<>(Arrays.asList(values));
    }

    private <T extends AutoCloseable> T kept(T thing) {
        opened.add(thing);
        return thing;
    }

    private ServiceBusSenderClient sender() {
        return kept(builder.sender().queueName("orders").buildClient());
    }

    private ServiceBusSenderClient toNews() {
        return kept(builder.sender().topicName("news").buildClient());
    }

    private ServiceBusReceiverClient receiver(String queue, SubQueue below, ServiceBusReceiveMode mode) {
        return kept(builder.receiver().queueName(queue).subQueue(below).receiveMode(mode)
            .maxAutoLockRenewDuration(Duration.ZERO).buildClient());
    }

    private ServiceBusReceiverClient receiver() {
        return receiver("orders", SubQueue.NONE, ServiceBusReceiveMode.PEEK_LOCK);
    }

    private ServiceBusReceiverClient deadLetters() {
        return receiver("orders", SubQueue.DEAD_LETTER_QUEUE, ServiceBusReceiveMode.PEEK_LOCK);
    }

    private ServiceBusReceiverClient subscription(String name, SubQueue below) {
        return kept(builder.receiver().topicName("news").subscriptionName(name).subQueue(below)
            .maxAutoLockRenewDuration(Duration.ZERO).buildClient());
    }

    private ServiceBusReceiverClient session(String id) {
        var sessions = kept(builder.sessionReceiver().queueName("orders").maxAutoLockRenewDuration(Duration.ZERO)
            .buildClient());
        return kept(id == null ? sessions.acceptNextSession() : sessions.acceptSession(id));
    }

    private static ServiceBusMessage text(String body) {
        return new ServiceBusMessage(body);
    }

    private static List<ServiceBusMessage> numbers(int from, int to) {
        List<ServiceBusMessage> found = new ArrayList<>();
        for (int n = from; n < to; n++) {
            found.add(text(String.valueOf(n)));
        }
        return found;
    }

    private void send(ServiceBusMessage... messages) {
        sender().sendMessages(Arrays.asList(messages));
    }

    private static List<ServiceBusReceivedMessage> take(ServiceBusReceiverClient from, int count, Duration wait) {
        List<ServiceBusReceivedMessage> found = new ArrayList<>();
        while (found.size() < count) {
            List<ServiceBusReceivedMessage> more = from.receiveMessages(count - found.size(), wait).stream().toList();
            if (more.isEmpty()) {
                break;
            }
            found.addAll(more);
        }
        return found;
    }

    private static ServiceBusReceivedMessage one(ServiceBusReceiverClient from) {
        List<ServiceBusReceivedMessage> found = take(from, 1, WAIT);
        if (found.isEmpty()) {
            throw new IllegalStateException("no message came");
        }
        return found.get(0);
    }

    private static List<String> bodies(Iterable<ServiceBusReceivedMessage> messages) {
        List<String> found = new ArrayList<>();
        messages.forEach(each -> found.add(each.getBody().toString()));
        return found;
    }

    private static OffsetDateTime inAnHour() {
        return OffsetDateTime.now().plusHours(1);
    }

    private static long seconds(OffsetDateTime earlier, OffsetDateTime later) {
        return Math.round(Duration.between(earlier, later).toMillis() / 1000.0);
    }

    @Override
    public Map<String, Program.Scenario> scenarios() {
        Map<String, Program.Scenario> all = new LinkedHashMap<>();
        all.put("complete", this::complete);
        all.put("batch", this::batch);
        all.put("largest", this::largest);
        all.put("large", () -> {
            send(text("x".repeat(900_000)));
            ServiceBusReceiverClient from = receiver();
            ServiceBusReceivedMessage found = one(from);
            from.complete(found);
            return found.getBody().toString().length();
        });
        all.put("deleting", () -> {
            sender().sendMessages(numbers(0, 2));
            return bodies(take(receiver("orders", SubQueue.NONE, ServiceBusReceiveMode.RECEIVE_AND_DELETE), 2, WAIT));
        });
        all.put("processor", this::processor);
        all.put("abandon", this::abandon);
        all.put("dead", this::dead);
        all.put("defer", this::defer);
        all.put("deferred", this::deferred);
        all.put("peek", () -> {
            sender().sendMessages(numbers(0, 5));
            ServiceBusReceiverClient from = receiver();
            List<ServiceBusReceivedMessage> first = from.peekMessages(3).stream().toList();
            return list(bodies(first), bodies(from.peekMessages(5, 4)), bodies(from.peekMessages(5, 9)),
                first.get(0).getState().toString());
        });
        all.put("schedule", this::schedule);
        all.put("locks", this::locks);
        all.put("expiry", () -> {
            send(text("hello").setTimeToLive(Duration.ofSeconds(30)));
            Program.advance(31);
            return one(deadLetters()).getDeadLetterReason();
        });
        all.put("duplicates", () -> {
            send(text("1").setMessageId("a"), text("2").setMessageId("a"), text("3").setMessageId("b"));
            return "sent";
        });
        all.put("session", this::ofSession);
        all.put("next", this::next);
        all.put("none", this::none);
        all.put("held", () -> {
            session("a");
            // A second builder, since clients of one share the link of a session.
            ServiceBus other = new ServiceBus(port);
            kept(() -> close(other.opened));
            return failure(() -> other.session("a"));
        });
        all.put("lost", () -> {
            send(text("1").setSessionId("a"));
            ServiceBusReceiverClient from = session("a");
            ServiceBusReceivedMessage found = one(from);
            Program.advance(31);
            // What it settles before it has seen the link's end is answered by nobody.
            Thread.sleep(500);
            String settling = failure(() -> from.complete(found));
            return list(settling, one(session("a")).getDeliveryCount());
        });
        all.put("deferredOfSession", () -> {
            send(text("1").setSessionId("a"));
            ServiceBusReceiverClient from = session("a");
            ServiceBusReceivedMessage found = one(from);
            from.defer(found);
            ServiceBusReceivedMessage again = from.receiveDeferredMessage(found.getSequenceNumber());
            from.complete(again);
            return again.getBody().toString();
        });
        all.put("topic", this::topic);
        all.put("scheduledToTopic", () -> {
            toNews().scheduleMessage(text("later"), inAnHour());
            ServiceBusReceiverClient from = subscription("every", SubQueue.NONE);
            List<ServiceBusReceivedMessage> before = take(from, 1, SHORT);
            Program.advance(3700);
            return list(bodies(before), bodies(take(from, 1, LONG)));
        });
        all.put("rules", this::rules);
        all.put("missing", () -> {
            ServiceBusSenderClient nowhere = kept(builder.sender().queueName("nowhere").buildClient());
            String sending = failure(() -> nowhere.sendMessage(text("hello")));
            ServiceBusReceiverClient from = receiver("nowhere", SubQueue.NONE, ServiceBusReceiveMode.PEEK_LOCK);
            String receiving = failure(() -> from.peekMessage());
            send(text("good"));
            return list(sending, receiving);
        });
        all.put("refused", () -> failure(() -> send(text("x".repeat(400)))));
        all.put("idle", () -> {
            ServiceBusSenderClient sender = sender();
            sender.sendMessage(text("1"));
            Program.advance(601);
            sender.sendMessage(text("2"));
            return bodies(take(receiver(), 2, WAIT));
        });
        all.put("transactions", this::transactions);
        all.put("settlingInTransactions", this::settlingInTransactions);
        return all;
    }

    private Object complete() {
        ServiceBusMessage message = text("hello").setMessageId("m1").setSubject("s").setCorrelationId("c")
            .setContentType("text/plain").setReplyTo("r").setTo("t").setPartitionKey("p")
            .setTimeToLive(Duration.ofMinutes(5));
        message.getApplicationProperties().put("a", 1);
        message.getApplicationProperties().put("b", "two");
        send(message);
        ServiceBusReceiverClient from = receiver();
        ServiceBusReceivedMessage found = one(from);
        from.complete(found);
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("body", found.getBody().toString());
        told.put("id", found.getMessageId());
        told.put("subject", found.getSubject());
        told.put("correlation", found.getCorrelationId());
        told.put("type", found.getContentType());
        told.put("replyTo", found.getReplyTo());
        told.put("to", found.getTo());
        told.put("key", found.getPartitionKey());
        told.put("properties", found.getApplicationProperties());
        told.put("count", found.getDeliveryCount());
        told.put("number", found.getSequenceNumber());
        told.put("enqueued", found.getEnqueuedSequenceNumber());
        told.put("ttl", found.getTimeToLive().toSeconds());
        told.put("lock", seconds(found.getEnqueuedTime(), found.getLockedUntil()));
        told.put("expires", seconds(found.getEnqueuedTime(), found.getExpiresAt()));
        return told;
    }

    private Object batch() {
        ServiceBusSenderClient sender = sender();
        sender.sendMessages(numbers(0, 3));
        var batch = sender.createMessageBatch();
        numbers(3, 6).forEach(batch::tryAddMessage);
        sender.sendMessages(batch);
        return bodies(take(receiver(), 6, WAIT));
    }

    private Object largest() throws Exception {
        ServiceBusSenderClient sender = sender();
        var batch = sender.createMessageBatch();
        int fit = 0;
        while (batch.tryAddMessage(text("x".repeat(100)))) {
            fit++;
        }
        String large = failure(() -> sender.sendMessage(text("x".repeat(3000))));
        sender.sendMessage(text("small"));
        return Map.of("fit", fit > 5 && fit < 20, "large", large);
    }

    private Object processor() throws Exception {
        sender().sendMessages(numbers(0, 5));
        List<String> found = new CopyOnWriteArrayList<>();
        var processor = builder.processor().queueName("orders").maxAutoLockRenewDuration(Duration.ZERO)
            .processMessage(context -> found.add(context.getMessage().getBody().toString()))
            .processError(context -> found.add(context.getException().toString())).buildProcessorClient();
        processor.start();
        for (int n = 0; n < 100 && found.size() < 5; n++) {
            Thread.sleep(50);
        }
        Thread.sleep(200);
        processor.close();
        return found.stream().sorted().toList();
    }

    private Object abandon() {
        send(text("hello"));
        ServiceBusReceiverClient from = receiver();
        List<Object> counts = list();
        for (int n = 0; n < 3; n++) {
            ServiceBusReceivedMessage found = one(from);
            counts.add(found.getDeliveryCount());
            from.abandon(found, new AbandonOptions().setPropertiesToModify(Map.of("seen", n)));
        }
        int left = take(from, 1, SHORT).size();
        ServiceBusReceivedMessage dead = one(deadLetters());
        return Map.of("counts", counts, "left", left, "reason", dead.getDeadLetterReason(), "seen",
            dead.getApplicationProperties().get("seen"));
    }

    private Object dead() {
        send(text("hello"));
        ServiceBusReceiverClient from = receiver();
        from.deadLetter(one(from),
            new DeadLetterOptions().setDeadLetterReason("bad").setDeadLetterErrorDescription("why"));
        ServiceBusReceiverClient letters = deadLetters();
        ServiceBusReceivedMessage dead = one(letters);
        letters.complete(dead);
        return list(dead.getBody().toString(), dead.getDeadLetterReason(), dead.getDeadLetterErrorDescription(),
            dead.getDeadLetterSource());
    }

    private Object defer() throws Exception {
        send(text("hello"));
        ServiceBusReceiverClient from = receiver();
        ServiceBusReceivedMessage found = one(from);
        from.defer(found);
        ServiceBusReceivedMessage again = from.receiveDeferredMessage(found.getSequenceNumber());
        from.complete(again);
        String gone = failure(() -> from.receiveDeferredMessage(found.getSequenceNumber()));
        return list(again.getBody().toString(), gone.equals("nothing") ? gone : "refused");
    }

    private Object deferred() {
        sender().sendMessages(numbers(0, 4));
        ServiceBusReceiverClient from = receiver();
        List<Long> sequence = new ArrayList<>();
        for (ServiceBusReceivedMessage each : take(from, 4, WAIT)) {
            from.defer(each);
            sequence.add(each.getSequenceNumber());
        }
        List<ServiceBusReceivedMessage> again = from.receiveDeferredMessageBatch(sequence).stream().toList();
        from.abandon(again.get(0));
        from.deadLetter(again.get(1), new DeadLetterOptions().setDeadLetterReason("bad"));
        from.renewMessageLock(again.get(2));
        from.defer(again.get(2));
        from.complete(again.get(3));
        return bodies(again);
    }

    private Object schedule() throws Exception {
        ServiceBusSenderClient sender = sender();
        List<Long> found = new ArrayList<>();
        sender.scheduleMessages(numbers(1, 3), inAnHour()).forEach(found::add);
        sender.cancelScheduledMessage(found.get(0));
        sender.sendMessage(text("3").setScheduledEnqueueTime(inAnHour()));
        String again = failure(() -> sender.cancelScheduledMessage(found.get(0)));
        ServiceBusReceiverClient from = receiver();
        List<ServiceBusReceivedMessage> before = take(from, 1, SHORT);
        Program.advance(3700);
        return list(found.size(), again, bodies(before), bodies(take(from, 2, LONG)));
    }

    private Object locks() throws Exception {
        send(text("hello"));
        ServiceBusReceiverClient from = receiver();
        ServiceBusReceivedMessage found = one(from);
        OffsetDateTime before = found.getLockedUntil();
        Program.advance(20);
        OffsetDateTime until = from.renewMessageLock(found);
        Program.advance(31);
        String renewing = failure(() -> from.renewMessageLock(found));
        ServiceBusReceivedMessage again = one(from);
        String settling = failure(() -> from.complete(found));
        from.complete(again);
        return list(seconds(before, until), renewing, again.getDeliveryCount(), settling);
    }

    private Object ofSession() throws Exception {
        send(text("1").setSessionId("a"), text("3").setSessionId("a"));
        send(text("2").setSessionId("b"));
        ServiceBusReceiverClient from = session("a");
        List<ServiceBusReceivedMessage> found = take(from, 2, WAIT);
        List<Object> told = list();
        found.forEach(each -> told.add(list(each.getBody().toString(), each.getSessionId())));
        byte[] first = from.getSessionState();
        from.setSessionState("half".getBytes(StandardCharsets.UTF_8));
        List<Object> states =
            list(first == null ? null : "some", new String(from.getSessionState(), StandardCharsets.UTF_8));
        OffsetDateTime before = from.renewSessionLock();
        Program.advance(10);
        long renewed = seconds(before, from.renewSessionLock());
        found.forEach(from::complete);
        return Map.of("found", told, "id", from.getSessionId(), "states", states, "renewed", renewed);
    }

    private Object next() {
        send(text("1").setSessionId("a"));
        send(text("2").setSessionId("b"));
        List<List<String>> found = new ArrayList<>();
        for (int n = 0; n < 2; n++) {
            ServiceBusReceiverClient from = session(null);
            ServiceBusReceivedMessage each = one(from);
            found.add(List.of(from.getSessionId(), each.getBody().toString()));
            from.complete(each);
            from.close();
        }
        found.sort(Comparator.comparing(each -> each.get(0)));
        return found;
    }

    private Object none() throws Exception {
        CompletableFuture<String> waiting = CompletableFuture.supplyAsync(() -> {
            try {
                return failure(() -> session(null));
            } catch (Exception error) {
                return error.toString();
            }
        });
        while (true) {
            try {
                return waiting.get(200, TimeUnit.MILLISECONDS);
            } catch (TimeoutException error) {
                Program.advance(66);
            }
        }
    }

    private Object topic() {
        ServiceBusMessage red = text("1").setSubject("s1");
        red.getApplicationProperties().put("colour", "red");
        toNews().sendMessages(List.of(red, text("2")));
        ServiceBusReceiverClient from = subscription("red", SubQueue.NONE);
        ServiceBusReceivedMessage found = one(from);
        from.deadLetter(found);
        ServiceBusReceivedMessage dead = one(subscription("red", SubQueue.DEAD_LETTER_QUEUE));
        return list(found.getBody().toString(), dead.getBody().toString(),
            bodies(take(subscription("every", SubQueue.NONE), 2, WAIT)));
    }

    private Object rules() throws Exception {
        var manager = kept(builder.ruleManager().topicName("news").subscriptionName("every").buildClient());
        manager.createRule("blue", new CreateRuleOptions(new SqlRuleFilter("colour = 'blue'"))
            .setAction(new SqlRuleAction("SET seen = 'yes'")));
        CorrelationRuleFilter mine = new CorrelationRuleFilter("me");
        mine.getProperties().put("n", 1);
        manager.createRule("mine", new CreateRuleOptions(mine));
        manager.deleteRule("$Default");
        List<List<String>> found = new ArrayList<>();
        List<String> actions = new ArrayList<>();
        manager.listRules().forEach(each -> {
            found.add(List.of(each.getName(), each.getFilter() instanceof SqlRuleFilter sql ? sql.getSqlExpression()
                : ((CorrelationRuleFilter) each.getFilter()).getCorrelationId()));
            if (each.getAction() instanceof SqlRuleAction action) {
                actions.add(action.getSqlExpression());
            }
        });
        found.sort(Comparator.comparing(each -> each.get(0)));
        String twice =
            failure(() -> manager.createRule("blue", new CreateRuleOptions(new SqlRuleFilter("1=1"))));
        String wrong =
            failure(() -> manager.createRule("wrong", new CreateRuleOptions(new SqlRuleFilter("colour ="))));
        String missing = failure(() -> manager.deleteRule("nothing"));
        ServiceBusMessage blue = text("1");
        blue.getApplicationProperties().put("colour", "blue");
        ServiceBusMessage correlated = text("2").setCorrelationId("me");
        correlated.getApplicationProperties().put("n", 1);
        toNews().sendMessages(List.of(blue, correlated, text("3")));
        List<Object> taken = list();
        take(subscription("every", SubQueue.NONE), 2, WAIT).forEach(
            each -> taken.add(list(each.getBody().toString(), each.getApplicationProperties().get("seen"))));
        return Map.of("rules", found, "action", actions.get(0), "twice", twice, "wrong", wrong, "missing", missing,
            "found", taken);
    }

    // What a transaction sends is there at its end, or never.
    private Object transactions() {
        ServiceBusSenderClient sender = sender();
        // This opens its link, with a token: none is put for the coordinator.
        sender.createMessageBatch();
        var failed = sender.createTransaction();
        sender.sendMessage(text("never"), failed);
        sender.rollbackTransaction(failed);
        var done = sender.createTransaction();
        sender.sendMessage(text("first"), done);
        sender.scheduleMessage(text("later"), inAnHour(), done);
        sender.sendMessage(text("second"), done);
        ServiceBusReceiverClient from = receiver();
        List<String> before = bodies(take(from, 1, SHORT));
        sender.commitTransaction(done);
        // One that comes while nobody waits is given back, and comes again behind the other.
        return list(before, bodies(take(from, 2, WAIT)).stream().sorted().toList());
    }

    // What a transaction settles is settled at its end; a rollback leaves the lock.
    private Object settlingInTransactions() {
        sender().sendMessages(numbers(0, 5));
        ServiceBusReceiverClient from = receiver();
        List<ServiceBusReceivedMessage> found = take(from, 5, WAIT);
        var failed = from.createTransaction();
        from.complete(found.get(0), new CompleteOptions().setTransactionContext(failed));
        from.rollbackTransaction(failed);
        from.renewMessageLock(found.get(0));
        var done = from.createTransaction();
        from.complete(found.get(1), new CompleteOptions().setTransactionContext(done));
        from.abandon(found.get(2), new AbandonOptions().setTransactionContext(done));
        from.defer(found.get(3), new DeferOptions().setTransactionContext(done));
        from.deadLetter(found.get(4), new DeadLetterOptions().setDeadLetterReason("bad").setTransactionContext(done));
        from.commitTransaction(done);
        ServiceBusReceivedMessage again = one(receiver());
        return list(again.getBody().toString(), again.getDeliveryCount());
    }
}
