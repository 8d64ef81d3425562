package main

import (
	"context"
	"errors"
	"math"
	"sort"
	"strings"
	"time"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

const wait, short = 5.0, 1.0

type bus struct{ *sb.Client }

func withServiceBus(port int, function func(bus) any) any {
	options := sb.ClientOptions{RetryOptions: sb.RetryOptions{MaxRetries: 1, RetryDelay: 10 * time.Millisecond}}
	client := got(sb.NewClientFromConnectionString(place(port), &options))
	defer func() { must(client.Close(within(wait))) }()
	return function(bus{client})
}

// Both kinds of receiver have these.
type receiver interface {
	ReceiveMessages(context.Context, int, *sb.ReceiveMessagesOptions) ([]*sb.ReceivedMessage, error)
	CompleteMessage(context.Context, *sb.ReceivedMessage, *sb.CompleteMessageOptions) error
}

func take(from receiver, count int, seconds float64) []*sb.ReceivedMessage {
	found := []*sb.ReceivedMessage{}
	for len(found) < count {
		more, err := from.ReceiveMessages(within(seconds), count-len(found), nil)
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		must(err)
		found = append(found, more...)
	}
	return found
}

func one(from receiver) *sb.ReceivedMessage {
	found := take(from, 1, wait)
	if len(found) != 1 {
		panic("no message came")
	}
	return found[0]
}

func bodies(messages []*sb.ReceivedMessage) list {
	found := list{}
	for _, each := range messages {
		found = append(found, string(each.Body))
	}
	return found
}

func (b bus) send(name string, messages ...*sb.Message) error {
	sender := got(b.NewSender(name, nil))
	defer sender.Close(within(wait))
	for _, each := range messages {
		if err := sender.SendMessage(within(wait), each, nil); err != nil {
			return err
		}
	}
	return nil
}

func (b bus) receiver(name string) *sb.Receiver { return got(b.NewReceiverForQueue(name, nil)) }

func (b bus) deadLetters() *sb.Receiver {
	return got(b.NewReceiverForQueue("orders", &sb.ReceiverOptions{SubQueue: sb.SubQueueDeadLetter}))
}

func (b bus) session(id string) *sb.SessionReceiver {
	return got(b.AcceptSessionForQueue(within(wait), "orders", id, nil))
}

func plain(body string) *sb.Message { return &sb.Message{Body: []byte(body)} }

func numbers(count int) []*sb.Message {
	found := []*sb.Message{}
	for n := range count {
		found = append(found, plain(string(rune('0'+n))))
	}
	return found
}

func ofSession(body, id string) *sb.Message { return &sb.Message{Body: []byte(body), SessionID: &id} }

// The code of the SDK where it has one, and else the condition that its text names.
func failure(err error) string {
	var coded *sb.Error
	if err == nil {
		return "nothing"
	}
	if errors.As(err, &coded) {
		return string(coded.Code)
	}
	for _, word := range strings.FieldsFunc(err.Error(), func(c rune) bool { return strings.ContainsRune(" \",(){}", c) }) {
		if strings.HasPrefix(word, "amqp:") || strings.HasPrefix(word, "com.microsoft:") {
			return word
		}
	}
	return err.Error()
}

func seconds(later, earlier *time.Time) float64 { return later.Sub(*earlier).Seconds() }

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

var serviceBus = map[string]func(bus) any{
	"complete": func(b bus) any {
		must(b.send("orders", &sb.Message{
			Body: []byte("hello"), MessageID: ptr("m1"), Subject: ptr("s"), CorrelationID: ptr("c"),
			ContentType: ptr("text/plain"), ReplyTo: ptr("r"), To: ptr("t"), PartitionKey: ptr("p"),
			ApplicationProperties: m{"a": 1, "b": "two"}, TimeToLive: ptr(5 * time.Minute),
		}))
		from := b.receiver("orders")
		found := one(from)
		must(from.CompleteMessage(within(wait), found, nil))
		return m{
			"body": string(found.Body), "id": found.MessageID, "subject": text(found.Subject),
			"correlation": text(found.CorrelationID), "type": text(found.ContentType), "replyTo": text(found.ReplyTo),
			"to": text(found.To), "key": text(found.PartitionKey), "properties": found.ApplicationProperties,
			"count": found.DeliveryCount, "number": *found.SequenceNumber, "enqueued": *found.EnqueuedSequenceNumber,
			"ttl": found.TimeToLive.Seconds(), "lock": seconds(found.LockedUntil, found.EnqueuedTime),
			"expires": seconds(found.ExpiresAt, found.EnqueuedTime),
		}
	},
	"batch": func(b bus) any {
		sender := got(b.NewSender("orders", nil))
		for _, each := range [][]*sb.Message{numbers(6)[:3], numbers(6)[3:]} {
			batch := got(sender.NewMessageBatch(within(wait), nil))
			for _, message := range each {
				must(batch.AddMessage(message, nil))
			}
			must(sender.SendMessageBatch(within(wait), batch, nil))
		}
		return bodies(take(b.receiver("orders"), 6, wait))
	},
	"largest": func(b bus) any {
		sender := got(b.NewSender("orders", nil))
		batch := got(sender.NewMessageBatch(within(wait), nil))
		fit := 0
		for batch.AddMessage(plain(strings.Repeat("x", 100)), nil) == nil {
			fit++
		}
		large := failure(sender.SendMessage(within(wait), plain(strings.Repeat("x", 3000)), nil))
		must(sender.SendMessage(within(wait), plain("small"), nil))
		return m{"fit": fit > 5 && fit < 20, "large": large}
	},
	"large": func(b bus) any {
		must(b.send("orders", plain(strings.Repeat("x", 900000))))
		from := b.receiver("orders")
		found := one(from)
		must(from.CompleteMessage(within(wait), found, nil))
		return len(found.Body)
	},
	"deleting": func(b bus) any {
		must(b.send("orders", numbers(2)...))
		options := sb.ReceiverOptions{ReceiveMode: sb.ReceiveModeReceiveAndDelete}
		return bodies(take(got(b.NewReceiverForQueue("orders", &options)), 2, wait))
	},
	// This SDK has no loop of its own.
	"processor": func(b bus) any {
		must(b.send("orders", numbers(5)...))
		from := b.receiver("orders")
		found := take(from, 5, wait)
		for _, each := range found {
			must(from.CompleteMessage(within(wait), each, nil))
		}
		return bodies(found)
	},
	"abandon": func(b bus) any {
		must(b.send("orders", plain("hello")))
		from := b.receiver("orders")
		counts := list{}
		for n := range 3 {
			found := one(from)
			counts = append(counts, found.DeliveryCount-1)
			must(from.AbandonMessage(within(wait), found, &sb.AbandonMessageOptions{PropertiesToModify: m{"seen": n}}))
		}
		left := take(from, 1, short)
		dead := one(b.deadLetters())
		return m{
			"counts": counts, "left": len(left), "reason": text(dead.DeadLetterReason),
			"seen": dead.ApplicationProperties["seen"],
		}
	},
	"dead": func(b bus) any {
		must(b.send("orders", plain("hello")))
		from := b.receiver("orders")
		why := sb.DeadLetterOptions{Reason: ptr("bad"), ErrorDescription: ptr("why")}
		must(from.DeadLetterMessage(within(wait), one(from), &why))
		letters := b.deadLetters()
		dead := one(letters)
		must(letters.CompleteMessage(within(wait), dead, nil))
		return list{
			string(dead.Body), text(dead.DeadLetterReason), text(dead.DeadLetterErrorDescription),
			text(dead.DeadLetterSource),
		}
	},
	"defer": func(b bus) any {
		must(b.send("orders", plain("hello")))
		from := b.receiver("orders")
		found := one(from)
		must(from.DeferMessage(within(wait), found, nil))
		again := got(from.ReceiveDeferredMessages(within(wait), []int64{*found.SequenceNumber}, nil))[0]
		must(from.CompleteMessage(within(wait), again, nil))
		_, err := from.ReceiveDeferredMessages(within(wait), []int64{*found.SequenceNumber}, nil)
		if err != nil {
			return list{string(again.Body), "refused"}
		}
		return list{string(again.Body), "nothing"}
	},
	"deferred": func(b bus) any {
		must(b.send("orders", numbers(4)...))
		from := b.receiver("orders")
		sequence := []int64{}
		for _, each := range take(from, 4, wait) {
			must(from.DeferMessage(within(wait), each, nil))
			sequence = append(sequence, *each.SequenceNumber)
		}
		again := got(from.ReceiveDeferredMessages(within(wait), sequence, nil))
		must(from.AbandonMessage(within(wait), again[0], nil))
		must(from.DeadLetterMessage(within(wait), again[1], &sb.DeadLetterOptions{Reason: ptr("bad")}))
		must(from.RenewMessageLock(within(wait), again[2], nil))
		must(from.DeferMessage(within(wait), again[2], nil))
		must(from.CompleteMessage(within(wait), again[3], nil))
		return bodies(again)
	},
	"peek": func(b bus) any {
		must(b.send("orders", numbers(5)...))
		from := b.receiver("orders")
		first := got(from.PeekMessages(within(wait), 3, nil))
		more := got(from.PeekMessages(within(wait), 5, &sb.PeekMessagesOptions{FromSequenceNumber: ptr(int64(4))}))
		none := got(from.PeekMessages(within(wait), 5, &sb.PeekMessagesOptions{FromSequenceNumber: ptr(int64(9))}))
		return list{bodies(first), bodies(more), bodies(none), first[0].State}
	},
	"schedule": func(b bus) any {
		sender := got(b.NewSender("orders", nil))
		found := got(sender.ScheduleMessages(within(wait), numbers(3)[1:], inAnHour(), nil))
		must(sender.CancelScheduledMessages(within(wait), found[:1], nil))
		later := plain("3")
		later.ScheduledEnqueueTime = ptr(inAnHour())
		must(sender.SendMessage(within(wait), later, nil))
		again := failure(sender.CancelScheduledMessages(within(wait), found[:1], nil))
		from := b.receiver("orders")
		before := take(from, 1, short)
		advance(3700)
		return list{len(found), again, bodies(before), bodies(take(from, 2, wait))}
	},
	"locks": func(b bus) any {
		must(b.send("orders", plain("hello")))
		from := b.receiver("orders")
		found := one(from)
		before := *found.LockedUntil
		advance(20)
		must(from.RenewMessageLock(within(wait), found, nil))
		until := *found.LockedUntil
		advance(31)
		renewing := failure(from.RenewMessageLock(within(wait), found, nil))
		again := one(from)
		settling := failure(from.CompleteMessage(within(wait), found, nil))
		must(from.CompleteMessage(within(wait), again, nil))
		return list{math.Round(seconds(&until, &before)), renewing, again.DeliveryCount - 1, settling}
	},
	"expiry": func(b bus) any {
		message := plain("hello")
		message.TimeToLive = ptr(30 * time.Second)
		must(b.send("orders", message))
		advance(31)
		return text(one(b.deadLetters()).DeadLetterReason)
	},
	"duplicates": func(b bus) any {
		for _, id := range []string{"a", "a", "b"} {
			must(b.send("orders", &sb.Message{Body: []byte("hello"), MessageID: &id}))
		}
		return "sent"
	},
	"session": func(b bus) any {
		must(b.send("orders", ofSession("1", "a"), ofSession("2", "b"), ofSession("3", "a")))
		from := b.session("a")
		told := list{}
		found := take(from, 2, wait)
		for _, each := range found {
			told = append(told, list{string(each.Body), text(each.SessionID)})
		}
		states := list{nil}
		if first := got(from.GetSessionState(within(wait), nil)); first != nil {
			states[0] = string(first)
		}
		must(from.SetSessionState(within(wait), []byte("half"), nil))
		states = append(states, string(got(from.GetSessionState(within(wait), nil))))
		before := from.LockedUntil()
		advance(10)
		must(from.RenewSessionLock(within(wait), nil))
		renewed := math.Round(from.LockedUntil().Sub(before).Seconds())
		for _, each := range found {
			must(from.CompleteMessage(within(wait), each, nil))
		}
		must(from.Close(within(wait)))
		return m{"found": told, "id": from.SessionID(), "states": states, "renewed": renewed}
	},
	"next": func(b bus) any {
		must(b.send("orders", ofSession("1", "a"), ofSession("2", "b")))
		found := [][]string{}
		for range 2 {
			from := got(b.AcceptNextSessionForQueue(within(wait), "orders", nil))
			each := one(from)
			found = append(found, []string{from.SessionID(), string(each.Body)})
			must(from.CompleteMessage(within(wait), each, nil))
			must(from.Close(within(wait)))
		}
		sort.Slice(found, func(i, j int) bool { return found[i][0] < found[j][0] })
		return found
	},
	"none": func(b bus) any {
		done := make(chan string)
		go func() {
			_, err := b.AcceptNextSessionForQueue(within(20), "orders", nil)
			done <- failure(err)
		}()
		for {
			select {
			case told := <-done:
				return told
			case <-time.After(200 * time.Millisecond):
				advance(66)
			}
		}
	},
	"held": func(b bus) any {
		b.session("a")
		_, err := b.AcceptSessionForQueue(within(wait), "orders", "a", nil)
		return failure(err)
	},
	"lost": func(b bus) any {
		must(b.send("orders", ofSession("1", "a")))
		from := b.session("a")
		found := one(from)
		advance(31)
		settling := failure(from.CompleteMessage(within(wait), found, nil))
		// It tells of the lost lock too, if the service's detach is there before.
		from.Close(within(wait))
		return list{settling, one(b.session("a")).DeliveryCount - 1}
	},
	"deferredOfSession": func(b bus) any {
		must(b.send("orders", ofSession("1", "a")))
		from := b.session("a")
		found := one(from)
		must(from.DeferMessage(within(wait), found, nil))
		again := got(from.ReceiveDeferredMessages(within(wait), []int64{*found.SequenceNumber}, nil))[0]
		must(from.CompleteMessage(within(wait), again, nil))
		return string(again.Body)
	},
	"sessions": func(b bus) any {
		must(b.send("orders", ofSession("1", "a"), ofSession("2", "b"), ofSession("3", "c")))
		found := []string{}
		for pager := b.NewListSessionsForQueuePager("orders", nil); pager.More(); {
			found = append(found, got(pager.NextPage(within(wait))).Sessions...)
		}
		sort.Strings(found)
		return found
	},
	"topic": func(b bus) any {
		red := &sb.Message{Body: []byte("1"), Subject: ptr("s1"), ApplicationProperties: m{"colour": "red"}}
		must(b.send("news", red, plain("2")))
		from := got(b.NewReceiverForSubscription("news", "red", nil))
		found := one(from)
		must(from.DeadLetterMessage(within(wait), found, nil))
		options := sb.ReceiverOptions{SubQueue: sb.SubQueueDeadLetter}
		dead := one(got(b.NewReceiverForSubscription("news", "red", &options)))
		every := take(got(b.NewReceiverForSubscription("news", "every", nil)), 2, wait)
		return list{string(found.Body), string(dead.Body), bodies(every)}
	},
	"scheduledToTopic": func(b bus) any {
		sender := got(b.NewSender("news", nil))
		got(sender.ScheduleMessages(within(wait), []*sb.Message{plain("later")}, inAnHour(), nil))
		from := got(b.NewReceiverForSubscription("news", "every", nil))
		before := take(from, 1, short)
		advance(3700)
		return list{bodies(before), bodies(take(from, 1, wait))}
	},
	"missing": func(b bus) any {
		sending := failure(b.send("nowhere", plain("hello")))
		_, err := b.receiver("nowhere").ReceiveMessages(within(wait), 1, nil)
		must(b.send("orders", plain("good")))
		return list{sending, failure(err)}
	},
	"refused": func(b bus) any { return failure(b.send("orders", plain(strings.Repeat("x", 400)))) },
	"idle": func(b bus) any {
		sender := got(b.NewSender("orders", nil))
		must(sender.SendMessage(within(wait), plain("1"), nil))
		advance(601)
		must(sender.SendMessage(within(wait), plain("2"), nil))
		return bodies(take(b.receiver("orders"), 2, wait))
	},
}
