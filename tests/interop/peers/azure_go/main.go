// Scenarios on azservicebus and azeventhubs. A line of standard input is a request, {"scenario": NAME, "port": NUMBER};
// a line of standard output what was found, {"told": ...} or {"failed": TEXT}. Before that {"advance": SECONDS} asks
// for the service's clock to be moved, which a line answers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

type m = map[string]any
type list = []any

var input = bufio.NewScanner(os.Stdin)

func say(value any) {
	text, err := json.Marshal(value)
	must(err)
	fmt.Println(string(text))
}

func advance(seconds int) {
	say(m{"advance": seconds})
	input.Scan()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func got[T any](value T, err error) T {
	must(err)
	return value
}

func ptr[T any](value T) *T { return &value }

func text(value *string) any {
	if value == nil {
		return nil
	}
	return *value
}

// within is a context that ends after so many seconds.
func within(seconds float64) context.Context {
	found, cancel := context.WithTimeout(context.Background(), time.Duration(seconds*float64(time.Second)))
	context.AfterFunc(found, cancel)
	return found
}

func place(port int) string {
	return fmt.Sprintf("Endpoint=sb://127.0.0.1:%d;SharedAccessKeyName=RootManageSharedAccessKey;"+
		"SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;", port)
}

func run(scenario string, port int) (answer m) {
	defer func() {
		if failed := recover(); failed != nil {
			answer = m{"failed": fmt.Sprintf("%v\n%s", failed, debug.Stack())}
		}
	}()
	if function, found := serviceBus[scenario]; found {
		return m{"told": withServiceBus(port, function)}
	}
	return m{"told": eventHubs[scenario](hubs{place(port)})}
}

func main() {
	for input.Scan() {
		var request struct {
			Scenario string
			Port     int
		}
		must(json.Unmarshal(input.Bytes(), &request))
		say(run(request.Scenario, request.Port))
	}
}
