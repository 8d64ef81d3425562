// go-amqp as a client under test, in 1.0. In this folder: go mod init probe; go get github.com/Azure/go-amqp; go build -o client;
// then amqp-sansio probe --client ./client
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/go-amqp"
)

var background = context.Background()

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
func closed(err error) {
	var link *amqp.LinkError
	var session *amqp.SessionError
	var connection *amqp.ConnError
	scope, remote := "", (*amqp.Error)(nil)
	switch {
	case errors.As(err, &link):
		scope, remote = "link", link.RemoteErr
	case errors.As(err, &session):
		scope, remote = "session", session.RemoteErr
	case errors.As(err, &connection):
		scope, remote = "connection", connection.RemoteErr
	}
	if remote != nil {
		say("closed", map[string]any{"scope": scope, "code": string(remote.Condition), "text": remote.Description})
	} else {
		say("closed", map[string]any{"scope": scope, "code": "", "text": err.Error()})
	}
}

func open(connection *amqp.Conn) error {
	say("opened", nil)
	<-connection.Done()
	return connection.Err()
}

func publish(session *amqp.Session, count int) error {
	sender, err := session.NewSender(background, os.Getenv("AMQP_QUEUE"), nil)
	if err != nil {
		return err
	}
	var failure error
	for place := 1; place <= count; place++ {
		outcome := "unknown"
		receipt, err := sender.SendWithReceipt(background, amqp.NewMessage(body(place)), nil)
		if err == nil {
			var state amqp.DeliveryState
			state, err = receipt.Wait(background)
			switch state.(type) {
			case *amqp.StateAccepted:
				outcome = "accepted"
			case *amqp.StateRejected:
				outcome = "rejected"
			case *amqp.StateReleased:
				outcome = "released"
			case *amqp.StateModified:
				outcome = "modified"
			}
		}
		say("published", map[string]any{"number": place, "outcome": outcome})
		if err != nil {
			failure = err
		}
	}
	return failure
}

func consume(session *amqp.Session, count int, reject bool) error {
	receiver, err := session.NewReceiver(background, os.Getenv("AMQP_QUEUE"), &amqp.ReceiverOptions{Credit: 10})
	if err != nil {
		return err
	}
	busy, _ := strconv.ParseFloat(os.Getenv("AMQP_BUSY"), 64)
	for left := count; left > 0; left-- {
		message, err := receiver.Receive(background, nil)
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(busy * float64(time.Second)))
		say("received", map[string]any{"body": string(message.GetData()), "redelivered": false})
		if reject {
			err = receiver.RejectMessage(background, message, nil)
		} else {
			err = receiver.AcceptMessage(background, message)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func rpc(session *amqp.Session) error {
	receiver, err := session.NewReceiver(background, "", &amqp.ReceiverOptions{DynamicAddress: true})
	if err != nil {
		return err
	}
	sender, err := session.NewSender(background, os.Getenv("AMQP_QUEUE"), nil)
	if err != nil {
		return err
	}
	address := receiver.Address()
	request := amqp.NewMessage([]byte("request"))
	request.Properties = &amqp.MessageProperties{ReplyTo: &address, CorrelationID: "1"}
	if err := sender.Send(background, request, nil); err != nil {
		return err
	}
	reply, err := receiver.Receive(background, nil)
	if err != nil {
		return err
	}
	say("reply", map[string]any{"body": string(reply.GetData())})
	return receiver.AcceptMessage(background, reply)
}

func main() {
	words := strings.Fields(os.Getenv("AMQP_DO"))
	if os.Getenv("AMQP_VERSION") != "1.0" {
		os.Exit(89)
	}
	count := 1
	if len(words) > 1 {
		count, _ = strconv.Atoi(words[1])
	}
	connection, err := amqp.Dial(background, os.Getenv("AMQP_URL"), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if words[0] == "open" {
		err = open(connection)
	} else {
		var session *amqp.Session
		session, err = connection.NewSession(background, nil)
		if err == nil {
			switch words[0] {
			case "publish":
				err = publish(session, count)
			case "consume":
				err = consume(session, count, words[len(words)-1] == "reject")
			case "rpc":
				err = rpc(session)
			default:
				os.Exit(89)
			}
		}
	}
	if err != nil {
		closed(err)
	}
	connection.Close()
}
