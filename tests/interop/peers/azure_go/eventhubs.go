package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	eh "github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

type hubs struct{ place string }

var once = eh.RetryOptions{MaxRetries: -1}

func (h hubs) producer(hub string) *eh.ProducerClient {
	return got(eh.NewProducerClientFromConnectionString(h.place, hub, &eh.ProducerClientOptions{RetryOptions: once}))
}

func (h hubs) consumer(group string) *eh.ConsumerClient {
	options := eh.ConsumerClientOptions{RetryOptions: once}
	return got(eh.NewConsumerClientFromConnectionString(h.place, "clicks", group, &options))
}

func send(client *eh.ProducerClient, options eh.EventDataBatchOptions, events ...*eh.EventData) error {
	batch, err := client.NewEventDataBatch(within(wait), &options)
	if err != nil {
		return err
	}
	for _, each := range events {
		must(batch.AddEventData(each, nil))
	}
	return client.SendEventDataBatch(within(wait), batch, nil)
}

func event(body string) *eh.EventData { return &eh.EventData{Body: []byte(body)} }

func at(partition string) eh.EventDataBatchOptions {
	return eh.EventDataBatchOptions{PartitionID: &partition}
}

var earliest = eh.StartPosition{Earliest: ptr(true)}

func reading(client *eh.ConsumerClient, partition string, from eh.StartPosition, level *int64) *eh.PartitionClient {
	return got(client.NewPartitionClient(partition, &eh.PartitionClientOptions{StartPosition: from, OwnerLevel: level}))
}

func read(reader *eh.PartitionClient, count int) ([]*eh.ReceivedEventData, error) {
	found := []*eh.ReceivedEventData{}
	for len(found) < count {
		more, err := reader.ReceiveEvents(within(2), count-len(found), nil)
		found = append(found, more...)
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

func texts(events []*eh.ReceivedEventData) []string {
	found := []string{}
	for _, each := range events {
		found = append(found, string(each.Body))
	}
	return found
}

func hubFailure(err error) string {
	var coded *eh.Error
	if errors.As(err, &coded) {
		return string(coded.Code)
	}
	if err != nil {
		if _, status, found := strings.Cut(err.Error(), "status code "); found {
			return "status " + status[:3]
		}
	}
	return failure(err)
}

// store keeps checkpoints and owners as blobs do: who claims must have seen the last claim.
type store struct {
	sync.Mutex
	checkpoints map[string]eh.Checkpoint
	owners      map[string]eh.Ownership
	claims      int
}

func newStore() *store {
	return &store{checkpoints: map[string]eh.Checkpoint{}, owners: map[string]eh.Ownership{}}
}

func (s *store) ClaimOwnership(
	_ context.Context, wanted []eh.Ownership, _ *eh.ClaimOwnershipOptions,
) ([]eh.Ownership, error) {
	s.Lock()
	defer s.Unlock()
	won := []eh.Ownership{}
	for _, each := range wanted {
		before, known := s.owners[each.PartitionID]
		if known && (each.ETag == nil || *each.ETag != *before.ETag) {
			continue
		}
		s.claims++
		each.ETag = ptr(azcore.ETag(fmt.Sprint(s.claims)))
		each.LastModifiedTime = time.Now().UTC()
		s.owners[each.PartitionID] = each
		won = append(won, each)
	}
	return won, nil
}

func (s *store) ListOwnership(
	context.Context, string, string, string, *eh.ListOwnershipOptions,
) ([]eh.Ownership, error) {
	s.Lock()
	defer s.Unlock()
	found := []eh.Ownership{}
	for _, each := range s.owners {
		found = append(found, each)
	}
	return found, nil
}

func (s *store) ListCheckpoints(
	context.Context, string, string, string, *eh.ListCheckpointsOptions,
) ([]eh.Checkpoint, error) {
	s.Lock()
	defer s.Unlock()
	found := []eh.Checkpoint{}
	for _, each := range s.checkpoints {
		found = append(found, each)
	}
	return found, nil
}

func (s *store) SetCheckpoint(_ context.Context, made eh.Checkpoint, _ *eh.SetCheckpointOptions) error {
	s.Lock()
	defer s.Unlock()
	s.checkpoints[made.PartitionID] = made
	return nil
}

// instance is a running processor, what it has read and of which partitions.
type instance struct {
	sync.Mutex
	events     []string
	partitions map[string]bool
	stop       context.CancelFunc
	ended      chan error
}

func (h hubs) process(kept *store) *instance {
	made := &instance{partitions: map[string]bool{}, ended: make(chan error, 1)}
	client := h.consumer(eh.DefaultConsumerGroup)
	processor := got(eh.NewProcessor(client, kept, &eh.ProcessorOptions{
		UpdateInterval: 200 * time.Millisecond, PartitionExpirationDuration: 3 * time.Second,
		StartPositions: eh.StartPositions{Default: earliest},
	}))
	var running context.Context
	running, made.stop = context.WithCancel(context.Background())
	go func() {
		for {
			partition := processor.NextPartitionClient(running)
			if partition == nil {
				return
			}
			go made.work(running, partition)
		}
	}()
	go func() {
		err := processor.Run(running)
		client.Close(within(wait))
		made.ended <- err
	}()
	return made
}

func (i *instance) work(running context.Context, partition *eh.ProcessorPartitionClient) {
	defer partition.Close(within(wait))
	i.has(partition.PartitionID(), true)
	defer i.has(partition.PartitionID(), false)
	for {
		waiting, cancel := context.WithTimeout(running, 300*time.Millisecond)
		found, err := partition.ReceiveEvents(waiting, 10, nil)
		cancel()
		if err != nil && (running.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return
		}
		if len(found) == 0 {
			continue
		}
		i.Lock()
		i.events = append(i.events, texts(found)...)
		i.Unlock()
		must(partition.UpdateCheckpoint(running, found[len(found)-1], nil))
	}
}

func (i *instance) has(partition string, has bool) {
	i.Lock()
	defer i.Unlock()
	if has {
		i.partitions[partition] = true
	} else {
		delete(i.partitions, partition)
	}
}

func (i *instance) count() int {
	i.Lock()
	defer i.Unlock()
	return len(i.partitions)
}

func (i *instance) read() []string {
	i.Lock()
	defer i.Unlock()
	return append([]string{}, i.events...)
}

func (i *instance) end() {
	i.stop()
	<-i.ended
}

func until(what string, reached func() bool) {
	for range 200 {
		if reached() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	panic("it never came: " + what)
}

var eventHubs = map[string]func(hubs) any{
	"properties": func(h hubs) any {
		client := h.producer("clicks")
		hub := got(client.GetEventHubProperties(within(wait), nil))
		empty := got(client.GetPartitionProperties(within(wait), "1", nil))
		must(send(client, at("1"), event("x")))
		filled := got(client.GetPartitionProperties(within(wait), "1", nil))
		must(client.Close(within(wait)))
		return m{
			"hub":    list{hub.Name, hub.PartitionIDs, math.Abs(time.Since(hub.CreatedOn).Hours()) < 1},
			"empty":  list{empty.IsEmpty, empty.LastEnqueuedSequenceNumber, empty.LastEnqueuedOffset},
			"filled": list{filled.IsEmpty, filled.BeginningSequenceNumber, filled.LastEnqueuedSequenceNumber},
		}
	},
	"sending": func(h hubs) any {
		client := h.producer("clicks")
		keyed := event("keyed")
		keyed.Properties, keyed.MessageID, keyed.ContentType = m{"n": 1}, ptr("m1"), ptr("text/plain")
		must(send(client, eh.EventDataBatchOptions{PartitionKey: ptr("alphabet")}, keyed, event("too")))
		must(send(client, at("1"), event("at 1")))
		must(client.Close(within(wait)))
		reader := h.consumer("audit")
		all, told := []string{}, m{}
		for _, partition := range []string{"0", "1"} {
			found, err := read(reading(reader, partition, earliest, nil), 3)
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				panic(err)
			}
			all = append(all, texts(found)...)
			for _, each := range found {
				if string(each.Body) == "keyed" {
					told = m{
						"key":   text(each.PartitionKey),
						"event": list{each.Properties, text(each.MessageID), text(each.ContentType), each.SequenceNumber},
						"where": partition,
					}
				}
			}
		}
		must(reader.Close(within(wait)))
		sort.Strings(all)
		told["bodies"] = all
		return told
	},
	"positions": func(h hubs) any {
		client := h.producer("clicks")
		for _, body := range []string{"a", "b", "c"} {
			must(send(client, at("0"), event(body)))
		}
		must(client.Close(within(wait)))
		reader := h.consumer(eh.DefaultConsumerGroup)
		second := got(read(reading(reader, "0", earliest, nil), 3))[1]
		told := m{}
		for name, from := range map[string]eh.StartPosition{
			"after":  {SequenceNumber: &second.SequenceNumber},
			"from":   {SequenceNumber: &second.SequenceNumber, Inclusive: true},
			"offset": {Offset: &second.Offset},
			"time":   {EnqueuedTime: ptr(second.EnqueuedTime.Add(-time.Millisecond))},
		} {
			found := []string{}
			for one := reading(reader, "0", from, nil); len(found) == 0 || found[len(found)-1] != "c"; {
				found = append(found, texts(got(one.ReceiveEvents(within(wait), 1, nil)))...)
			}
			told[name] = found
		}
		must(reader.Close(within(wait)))
		return told
	},
	"latest": func(h hubs) any {
		client := h.producer("clicks")
		must(send(client, at("0"), event("old")))
		reader := h.consumer(eh.DefaultConsumerGroup)
		one := reading(reader, "0", eh.StartPosition{Latest: ptr(true)}, nil)
		if found, _ := one.ReceiveEvents(within(short), 1, nil); len(found) > 0 {
			panic("an old event came")
		}
		must(send(client, at("0"), event("new")))
		found := got(read(one, 1))
		must(client.Close(within(wait)))
		must(reader.Close(within(wait)))
		return texts(found)
	},
	"levels": func(h hubs) any {
		client := h.producer("clicks")
		must(send(client, at("0"), event("x")))
		low, high := h.consumer(eh.DefaultConsumerGroup), h.consumer(eh.DefaultConsumerGroup)
		first := reading(low, "0", earliest, ptr(int64(1)))
		got(read(first, 1))
		second := got(read(reading(high, "0", earliest, ptr(int64(2))), 1))
		_, err := read(first, 1)
		for _, each := range []interface{ Close(context.Context) error }{client, low, high} {
			must(each.Close(within(wait)))
		}
		return list{hubFailure(err), strings.Contains(err.Error(), "higher epoch of '2'"), texts(second)}
	},
	"errors": func(h hubs) any {
		nowhere, client := h.producer("nothing"), h.producer("clicks")
		_, hub := nowhere.GetEventHubProperties(within(wait), nil)
		_, partition := client.GetPartitionProperties(within(wait), "7", nil)
		told := m{
			"hub": hubFailure(hub), "send": hubFailure(send(nowhere, eh.EventDataBatchOptions{}, event("x"))),
			"partition": hubFailure(partition), "sendPartition": hubFailure(send(client, at("7"), event("x"))),
			"after": hubFailure(send(client, eh.EventDataBatchOptions{}, event("good"))),
		}
		stranger := h.consumer("nobody")
		_, err := read(reading(stranger, "0", earliest, nil), 1)
		told["group"] = hubFailure(err)
		for _, each := range []interface{ Close(context.Context) error }{nowhere, client, stranger} {
			must(each.Close(within(wait)))
		}
		return told
	},
	// Two processors have a part each; when one ends, the other has all, and goes on behind the checkpoints.
	"balance": func(h hubs) any {
		client := h.producer("clicks")
		kept := newStore()
		one := h.process(kept)
		until("the first has all partitions", func() bool { return one.count() == 2 })
		two := h.process(kept)
		until("each has one partition", func() bool { return one.count() == 1 && two.count() == 1 })
		for n := range 20 {
			must(send(client, at(fmt.Sprint(n%2)), event(fmt.Sprintf("%02d", n))))
		}
		until("all events", func() bool { return len(one.read())+len(two.read()) >= 20 })
		both := list{len(one.read()), len(two.read())}
		before := append(one.read(), two.read()...)
		one.end()
		until("the second has all partitions", func() bool { return two.count() == 2 })
		must(send(client, at("0"), event("later 0")))
		must(send(client, at("1"), event("later 1")))
		until("later events", func() bool { return len(two.read()) >= 12 })
		after := two.read()[10:]
		two.end()
		must(client.Close(within(wait)))
		sort.Strings(before)
		sort.Strings(after)
		return m{"both": both, "before": before, "after": after}
	},
}
