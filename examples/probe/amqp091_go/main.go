// amqp091-go as a client under test, in 0-9-1. In this folder: go mod init probe; go get github.com/rabbitmq/amqp091-go; go build -o client;
// then amqp-sansio probe --client ./client
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

func say(event string, about map[string]any) {
	line := map[string]any{"event": event}
	for name, value := range about {
		line[name] = value
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func number(name string) int {
	found, _ := strconv.Atoi(os.Getenv(name))
	return found
}

func body(place int) []byte {
	text := strconv.Itoa(place)
	return []byte(text + strings.Repeat(".", max(number("AMQP_SIZE")-len(text), 0)))
}

// closed tells what the server ended.
func closed(scope string, err error) {
	var told *amqp.Error
	if errors.As(err, &told) {
		say("closed", map[string]any{"scope": scope, "code": told.Code, "text": told.Reason})
	}
}

func open(connection *amqp.Connection) error {
	blocked := connection.NotifyBlocked(make(chan amqp.Blocking, 10))
	ended := connection.NotifyClose(make(chan *amqp.Error, 1))
	say("opened", nil)
	for {
		select {
		case told, more := <-blocked:
			if !more {
				blocked = nil
			} else if told.Active {
				say("blocked", nil)
			} else {
				say("unblocked", nil)
			}
		case err := <-ended:
			if err != nil {
				return err
			}
			return nil
		}
	}
}

func publish(connection *amqp.Connection, count int) error {
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	if err := channel.Confirm(false); err != nil {
		return err
	}
	returns := channel.NotifyReturn(make(chan amqp.Return, count))
	ended := channel.NotifyClose(make(chan *amqp.Error, 1))
	confirmations := []*amqp.DeferredConfirmation{}
	for place := 1; place <= count; place++ {
		message := amqp.Publishing{MessageId: strconv.Itoa(place), Body: body(place)}
		one, err := channel.PublishWithDeferredConfirm("", os.Getenv("AMQP_QUEUE"), true, false, message)
		if err != nil {
			break
		}
		confirmations = append(confirmations, one)
	}
	returned := map[string]bool{}
	var failure error
	for place, one := range confirmations {
		outcome := "unknown"
		if failure == nil {
			select {
			case <-one.Done():
				// The return comes before the confirmation.
				for len(returns) > 0 {
					back := <-returns
					returned[back.MessageId] = true
				}
				outcome = "rejected"
				if one.Acked() {
					outcome = "accepted"
					if returned[strconv.Itoa(place+1)] {
						outcome = "returned"
					}
				}
			case err := <-ended:
				failure = errors.New("the channel ended")
				if err != nil {
					failure = err
				}
			}
		}
		say("published", map[string]any{"number": place + 1, "outcome": outcome})
	}
	return failure
}

func consume(connection *amqp.Connection, count int, reject bool) error {
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	if err := channel.Qos(100, 0, false); err != nil {
		return err
	}
	cancelled := channel.NotifyCancel(make(chan string, 1))
	ended := channel.NotifyClose(make(chan *amqp.Error, 1))
	deliveries, err := channel.Consume(os.Getenv("AMQP_QUEUE"), "probe", false, false, false, false, nil)
	if err != nil {
		return err
	}
	busy, _ := strconv.ParseFloat(os.Getenv("AMQP_BUSY"), 64)
	for left := count; left > 0; left-- {
		delivery, more := <-deliveries
		if !more {
			select {
			case <-cancelled:
				say("cancelled", nil)
				return nil
			case err := <-ended:
				return err
			}
		}
		time.Sleep(time.Duration(busy * float64(time.Second)))
		say("received", map[string]any{"body": string(delivery.Body), "redelivered": delivery.Redelivered})
		if reject {
			err = delivery.Reject(false)
		} else {
			err = delivery.Ack(false)
		}
		if err != nil {
			return err
		}
	}
	return channel.Cancel("probe", false)
}

func rpc(connection *amqp.Connection) error {
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	queue, err := channel.QueueDeclare("", false, false, true, false, nil)
	if err != nil {
		return err
	}
	replies, err := channel.Consume(queue.Name, "", true, false, false, false, nil)
	if err != nil {
		return err
	}
	request := amqp.Publishing{CorrelationId: "1", ReplyTo: queue.Name, Body: []byte("request")}
	if err := channel.Publish("", os.Getenv("AMQP_QUEUE"), false, false, request); err != nil {
		return err
	}
	for reply := range replies {
		if reply.CorrelationId == "1" {
			say("reply", map[string]any{"body": string(reply.Body)})
			break
		}
	}
	return nil
}

func main() {
	words := strings.Fields(os.Getenv("AMQP_DO"))
	if os.Getenv("AMQP_VERSION") != "0-9-1" {
		os.Exit(89)
	}
	count := 1
	if len(words) > 1 {
		count, _ = strconv.Atoi(words[1])
	}
	connection, err := amqp.Dial(os.Getenv("AMQP_URL"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	switch words[0] {
	case "open":
		err = open(connection)
	case "publish":
		err = publish(connection, count)
	case "consume":
		err = consume(connection, count, words[len(words)-1] == "reject")
	case "rpc":
		err = rpc(connection)
	default:
		os.Exit(89)
	}
	if err != nil {
		closed("", err)
	}
	if !connection.IsClosed() {
		if err := connection.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
