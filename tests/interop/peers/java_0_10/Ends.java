// Scenarios of how connections and sessions end, and of what keeps them.

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import org.apache.qpid.client.AMQConnection;
import org.apache.qpid.client.AMQSession;
import org.apache.qpid.jms.ConnectionListener;

final class Ends extends Shared {
    static Object heartbeat() throws Exception {
        AMQConnection connection = connect(url("guest", "guest", "/", "", "heartbeat='1'"));
        Thread.sleep(4_500);
        Object found = roundTrip(connection, "heartbeat");
        connection.close();
        return found;
    }

    // Waits for whatever ends the connection.
    static Object waiting() throws Exception {
        AMQConnection connection = connect(url("guest", "guest", "/", "", "heartbeat='1'"));
        BlockingQueue<JMSException> heard = new LinkedBlockingQueue<>();
        connection.setExceptionListener(heard::add);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        send(session, queue(session, "waiting"), "ready");
        return told(heard.poll(WAIT, TimeUnit.MILLISECONDS));
    }

    static Object closing() throws Exception {
        AMQConnection connection = open();
        BlockingQueue<JMSException> heard = new LinkedBlockingQueue<>();
        connection.setExceptionListener(heard::add);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        MessageConsumer consumer = session.createConsumer(queue(session, "closing"));
        session.createProducer(queue(session, "closing")).send(session.createTextMessage("close"));
        JMSException told = heard.poll(WAIT, TimeUnit.MILLISECONDS);
        return map("told", told(told), "after", refused(() -> session.createTextMessage()),
                "received", refused(() -> consumer.receive(SHORT)), "closed", connection.isClosed());
    }

    static Object absent() throws Exception {
        AMQConnection connection = open();
        BlockingQueue<JMSException> heard = new LinkedBlockingQueue<>();
        connection.setExceptionListener(heard::add);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Object subscribed = refused(() -> session.createConsumer(session.createQueue("absent; {create: never}")));
        Object deleted = refused(() -> ((AMQSession<?, ?>) session).deleteQueue("absent"));
        JMSException told = heard.poll(WAIT, TimeUnit.MILLISECONDS);
        // The connection goes on.
        Object found = roundTrip(connection, "goesOn");
        connection.close();
        return map("subscribed", subscribed, "deleted", deleted, "told", told(told),
                "after", refused(() -> session.createTextMessage()), "goesOn", found);
    }

    // A message that isn't taken: the session ends with the server's reason.
    static Object refusing() throws Exception {
        AMQConnection connection = open();
        BlockingQueue<JMSException> heard = new LinkedBlockingQueue<>();
        connection.setExceptionListener(heard::add);
        Session session = connection.createSession(true, Session.SESSION_TRANSACTED);
        session.createProducer(queue(session, "refusing")).send(session.createTextMessage("never"));
        Object told = told(heard.poll(WAIT, TimeUnit.MILLISECONDS));
        Object refused = refused(session::commit);
        Object found = roundTrip(connection, "goesOn");
        connection.close();
        return map("refused", refused, "told", told, "goesOn", found);
    }

    static Object clientId() throws Exception {
        System.setProperty("qpid.verify_client_id", "true");
        AMQConnection connection = open();
        Object refused = refused(() -> connect(url("guest", "guest", "/", "", "")));
        Object found = roundTrip(connection, "client.id");
        connection.close();
        AMQConnection next = open();
        Object id = next.getClientID();
        next.close();
        return map("id", id, "refused", refused, "found", found);
    }

    static Object failover() throws Exception {
        AMQConnection connection = connect("amqp://guest:guest@id//?failover='singlebroker'&brokerlist='tcp://127.0.0.1:"
                + port + "?retries='20'&connectdelay='100''");
        BlockingQueue<String> happened = new LinkedBlockingQueue<>();
        connection.setConnectionListener(new ConnectionListener() {
            @Override
            public void bytesSent(long count) {
            }

            @Override
            public void bytesReceived(long count) {
            }

            @Override
            public boolean preFailover(boolean redirect) {
                happened.add("preFailover");
                return true;
            }

            @Override
            public boolean preResubscribe() {
                happened.add("preResubscribe");
                return true;
            }

            @Override
            public void failoverComplete() {
                happened.add("failoverComplete");
            }
        });
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue queue = queue(session, "failover");
        MessageConsumer consumer = session.createConsumer(queue);
        MessageProducer producer = session.createProducer(queue);
        producer.send(session.createTextMessage("before"));
        Object before = redelivery(consumer.receive(WAIT));
        // The server drops the connection instead of answering this one.
        producer.send(session.createTextMessage("in doubt"));
        List<Object> events = new ArrayList<>();
        for (int n = 0; n < 2; n++) {
            events.add(happened.poll(WAIT, TimeUnit.MILLISECONDS));
        }
        producer.send(session.createTextMessage("after"));
        List<Object> found = new ArrayList<>();
        for (int n = 0; n < 2; n++) {
            found.add(redelivery(consumer.receive(WAIT)));
        }
        Object left = redelivery(consumer.receive(SHORT));
        connection.close();
        return map("before", before, "events", events, "found", found, "left", left);
    }

    private Ends() {
    }
}
