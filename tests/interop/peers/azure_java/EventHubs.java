import com.azure.core.amqp.AmqpRetryMode;
import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.core.amqp.exception.AmqpException;
import com.azure.messaging.eventhubs.CheckpointStore;
import com.azure.messaging.eventhubs.EventData;
import com.azure.messaging.eventhubs.EventHubClientBuilder;
import com.azure.messaging.eventhubs.EventHubConsumerAsyncClient;
import com.azure.messaging.eventhubs.EventHubProducerClient;
import com.azure.messaging.eventhubs.EventHubProperties;
import com.azure.messaging.eventhubs.EventProcessorClient;
import com.azure.messaging.eventhubs.EventProcessorClientBuilder;
import com.azure.messaging.eventhubs.LoadBalancingStrategy;
import com.azure.messaging.eventhubs.PartitionProperties;
import com.azure.messaging.eventhubs.models.Checkpoint;
import com.azure.messaging.eventhubs.models.EventPosition;
import com.azure.messaging.eventhubs.models.PartitionEvent;
import com.azure.messaging.eventhubs.models.PartitionOwnership;
import com.azure.messaging.eventhubs.models.ReceiveOptions;
import com.azure.messaging.eventhubs.models.SendOptions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Scenarios on azure-messaging-eventhubs. */
final class EventHubs implements Program.Service {
    private interface Call {
        void run() throws Exception;
    }

    private static final Duration WAIT = Duration.ofSeconds(15);
    private static final String DEFAULT = EventHubClientBuilder.DEFAULT_CONSUMER_GROUP_NAME;

    private final String place;
    private final List<AutoCloseable> opened = new ArrayList<>();

    private EventHubs(int port) {
        place = "Endpoint=sb://127.0.0.1:" + port + ";SharedAccessKeyName=RootManageSharedAccessKey;"
            + "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;";
    }

    public static void main(String[] arguments) throws Exception {
        Program.serve(EventHubs::new);
    }

    @Override
    public void close() throws Exception {
        for (AutoCloseable each : opened) {
            each.close();
        }
    }

    @Override
    public Map<String, Program.Scenario> scenarios() {
        Map<String, Program.Scenario> all = new LinkedHashMap<>();
        all.put("properties", this::properties);
        all.put("sending", this::sending);
        all.put("positions", this::positions);
        all.put("latest", this::latest);
        all.put("levels", this::levels);
        all.put("errors", this::errors);
        all.put("balance", this::balance);
        return all;
    }

    // Clients.

    private static AmqpRetryOptions once() {
        return new AmqpRetryOptions().setMode(AmqpRetryMode.FIXED).setMaxRetries(0).setDelay(Duration.ofMillis(10))
            .setTryTimeout(Duration.ofSeconds(10));
    }

    private <T extends AutoCloseable> T kept(T thing) {
        opened.add(thing);
        return thing;
    }

    private EventHubProducerClient producer(String hub) {
        return kept(new EventHubClientBuilder().connectionString(place, hub).retryOptions(once())
            .buildProducerClient());
    }

    private EventHubConsumerAsyncClient consumer(String group) {
        return kept(new EventHubClientBuilder().connectionString(place, "clicks").consumerGroup(group)
            .retryOptions(once()).buildAsyncConsumerClient());
    }

    private static SendOptions at(String partition) {
        return new SendOptions().setPartitionId(partition);
    }

    private static List<EventData> events(String... bodies) {
        return Stream.of(bodies).map(EventData::new).toList();
    }

    private static List<EventData> read(Flux<PartitionEvent> from) {
        return from.map(PartitionEvent::getData).collectList().block(WAIT);
    }

    private static List<String> bodies(List<EventData> events) {
        return events.stream().map(EventData::getBodyAsString).toList();
    }

    private static String failure(Call call) throws Exception {
        try {
            call.run();
        } catch (AmqpException error) {
            return String.valueOf(error.getErrorCondition());
        } catch (IllegalArgumentException error) {
            return error.getClass().getSimpleName();
        }
        return "nothing";
    }

    private static List<Object> list(Object... values) {
        return new ArrayList<>(Arrays.asList(values));
    }

    private static void until(String what, BooleanSupplier reached) throws InterruptedException {
        for (int n = 0; n < 200; n++) {
            if (reached.getAsBoolean()) {
                return;
            }
            Thread.sleep(100);
        }
        throw new IllegalStateException("it never came: " + what);
    }

    // Scenarios.

    private Object properties() {
        EventHubProducerClient client = producer("clicks");
        EventHubProperties hub = client.getEventHubProperties();
        PartitionProperties empty = client.getPartitionProperties("1");
        client.send(events("x"), at("1"));
        PartitionProperties filled = client.getPartitionProperties("1");
        boolean isNew = Math.abs(Duration.between(hub.getCreatedAt(), Instant.now()).toHours()) < 1;
        return Map.of("hub", list(hub.getName(), hub.getPartitionIds().stream().toList(), isNew),
            "empty", list(empty.isEmpty(), empty.getLastEnqueuedSequenceNumber(), empty.getLastEnqueuedOffset()),
            "filled", list(filled.isEmpty(), filled.getBeginningSequenceNumber(),
                filled.getLastEnqueuedSequenceNumber()));
    }

    private Object sending() {
        EventHubProducerClient client = producer("clicks");
        EventData keyed = new EventData("keyed").setMessageId("m1").setContentType("text/plain");
        keyed.getProperties().put("n", 1);
        client.send(List.of(keyed, new EventData("too")), new SendOptions().setPartitionKey("alphabet"));
        client.send(events("at 1"), at("1"));
        List<String> all = new ArrayList<>();
        Map<String, Object> told = new LinkedHashMap<>();
        EventHubConsumerAsyncClient reader = consumer("audit");
        Flux.merge(reader.receiveFromPartition("0", EventPosition.earliest()),
            reader.receiveFromPartition("1", EventPosition.earliest())).take(3).collectList().block(WAIT)
            .forEach(each -> {
                EventData event = each.getData();
                all.add(event.getBodyAsString());
                if (event.getBodyAsString().equals("keyed")) {
                    told.put("key", event.getPartitionKey());
                    told.put("event", list(event.getProperties(), event.getMessageId(), event.getContentType(),
                        event.getSequenceNumber()));
                    told.put("where", each.getPartitionContext().getPartitionId());
                }
            });
        told.put("bodies", all.stream().sorted().toList());
        return told;
    }

    private Object positions() {
        EventHubProducerClient client = producer("clicks");
        for (String body : List.of("a", "b", "c")) {
            client.send(events(body), at("0"));
        }
        EventHubConsumerAsyncClient reader = consumer(DEFAULT);
        EventData second = read(reader.receiveFromPartition("0", EventPosition.earliest()).take(3)).get(1);
        Map<String, Object> told = new LinkedHashMap<>();
        Map.of("after", EventPosition.fromSequenceNumber(second.getSequenceNumber()),
            "from", EventPosition.fromSequenceNumber(second.getSequenceNumber(), true),
            "offset", EventPosition.fromOffsetString(second.getOffsetString()),
            "time", EventPosition.fromEnqueuedTime(second.getEnqueuedTime().minusMillis(1))).forEach(
                (name, from) -> told.put(name, bodies(read(reader.receiveFromPartition("0", from)
                    .takeUntil(each -> each.getData().getBodyAsString().equals("c"))))));
        return told;
    }

    private Object latest() throws Exception {
        EventHubProducerClient client = producer("clicks");
        client.send(events("old"), at("0"));
        CompletableFuture<List<PartitionEvent>> found =
            consumer(DEFAULT).receiveFromPartition("0", EventPosition.latest()).take(1).collectList().toFuture();
        // Until its link is there.
        Thread.sleep(2000);
        client.send(events("new"), at("0"));
        return bodies(found.get(WAIT.toSeconds(), TimeUnit.SECONDS).stream().map(PartitionEvent::getData).toList());
    }

    private Object levels() throws Exception {
        producer("clicks").send(events("x"), at("0"));
        CountDownLatch first = new CountDownLatch(1);
        CompletableFuture<Throwable> ended = new CompletableFuture<>();
        consumer(DEFAULT).receiveFromPartition("0", EventPosition.earliest(), new ReceiveOptions().setOwnerLevel(1L))
            .subscribe(each -> first.countDown(), ended::complete);
        if (!first.await(WAIT.toSeconds(), TimeUnit.SECONDS)) {
            throw new IllegalStateException("no event came");
        }
        List<String> second = bodies(read(consumer(DEFAULT).receiveFromPartition("0", EventPosition.earliest(),
            new ReceiveOptions().setOwnerLevel(2L)).take(1)));
        Throwable error = ended.get(WAIT.toSeconds(), TimeUnit.SECONDS);
        return list(failure(() -> {
            throw (Exception) error;
        }), error.getMessage().contains("higher epoch of '2'"), second);
    }

    private Object errors() throws Exception {
        EventHubProducerClient nowhere = producer("nothing");
        EventHubProducerClient client = producer("clicks");
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("hub", failure(nowhere::getEventHubProperties));
        told.put("send", failure(() -> nowhere.send(events("x"))));
        told.put("partition", failure(() -> client.getPartitionProperties("7")));
        told.put("sendPartition", failure(() -> client.send(events("x"), at("7"))));
        told.put("after", failure(() -> client.send(events("good"))));
        told.put("group", failure(() -> read(consumer("nobody").receiveFromPartition("0", EventPosition.earliest())
            .take(1))));
        return told;
    }

    // Two processors have a part each; when one ends, the other has all, and goes on behind the checkpoints.
    private Object balance() throws Exception {
        EventHubProducerClient client = producer("clicks");
        Store store = new Store();
        Instance one = new Instance(place, store);
        until("the first has all partitions", () -> one.partitions.size() == 2);
        Instance two = new Instance(place, store);
        until("each has one partition", () -> one.partitions.size() == 1 && two.partitions.size() == 1);
        for (int n = 0; n < 20; n++) {
            client.send(events("%02d".formatted(n)), at(String.valueOf(n % 2)));
        }
        until("all events", () -> one.events.size() + two.events.size() >= 20);
        List<Object> both = list(one.events.size(), two.events.size());
        List<String> before = Stream.concat(one.events.stream(), two.events.stream()).sorted().toList();
        one.processor.stop();
        until("the second has all partitions", () -> two.partitions.size() == 2);
        client.send(events("later 0"), at("0"));
        client.send(events("later 1"), at("1"));
        until("later events", () -> two.events.size() >= 12);
        List<String> after = two.events.subList(10, two.events.size()).stream().sorted().toList();
        two.processor.stop();
        return Map.of("both", both, "before", before, "after", after);
    }

    /** A running processor, what it has read and of which partitions. */
    private static final class Instance {
        private final List<String> events = new CopyOnWriteArrayList<>();
        private final Set<String> partitions = ConcurrentHashMap.newKeySet();
        private final EventProcessorClient processor;

        private Instance(String place, Store store) {
            processor = new EventProcessorClientBuilder().connectionString(place, "clicks").consumerGroup(DEFAULT)
                .checkpointStore(store).loadBalancingStrategy(LoadBalancingStrategy.BALANCED)
                .loadBalancingUpdateInterval(Duration.ofSeconds(1))
                .partitionOwnershipExpirationInterval(Duration.ofSeconds(5))
                .initialPartitionEventPosition(partition -> EventPosition.earliest())
                .processPartitionInitialization(each -> partitions.add(each.getPartitionContext().getPartitionId()))
                .processPartitionClose(each -> partitions.remove(each.getPartitionContext().getPartitionId()))
                .processEvent(each -> {
                    events.add(each.getEventData().getBodyAsString());
                    each.updateCheckpoint();
                })
                .processError(each -> System.err.println(each.getThrowable()))
                .buildEventProcessorClient();
            processor.start();
        }
    }

    /** Keeps checkpoints and owners as blobs do: who claims must have seen the last claim. */
    private static final class Store implements CheckpointStore {
        private final Map<String, PartitionOwnership> owners = new ConcurrentHashMap<>();
        private final Map<String, Checkpoint> checkpoints = new ConcurrentHashMap<>();
        private int claims;

        @Override
        public Flux<PartitionOwnership> listOwnership(String namespace, String hub, String group) {
            return Flux.fromIterable(List.copyOf(owners.values()));
        }

        @Override
        public synchronized Flux<PartitionOwnership> claimOwnership(List<PartitionOwnership> wanted) {
            List<PartitionOwnership> won = new ArrayList<>();
            for (PartitionOwnership each : wanted) {
                PartitionOwnership before = owners.get(each.getPartitionId());
                if (before == null || before.getETag().equals(each.getETag())) {
                    claims++;
                    PartitionOwnership owner = new PartitionOwnership().setConsumerGroup(each.getConsumerGroup())
                        .setEventHubName(each.getEventHubName()).setOwnerId(each.getOwnerId())
                        .setFullyQualifiedNamespace(each.getFullyQualifiedNamespace())
                        .setPartitionId(each.getPartitionId()).setETag(String.valueOf(claims))
                        .setLastModifiedTime(System.currentTimeMillis());
                    owners.put(each.getPartitionId(), owner);
                    won.add(owner);
                }
            }
            return Flux.fromIterable(won);
        }

        @Override
        public Flux<Checkpoint> listCheckpoints(String namespace, String hub, String group) {
            return Flux.fromIterable(List.copyOf(checkpoints.values()));
        }

        @Override
        public Mono<Void> updateCheckpoint(Checkpoint made) {
            checkpoints.put(made.getPartitionId(), made);
            return Mono.empty();
        }
    }
}
