package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/metrics"
	"strconv"
)

// Limits bounds the work of a Space. Zero fields mean no limit.
type Limits struct {
	MaxStates   int64 // number of stored states; the identifiers allow 4,294,967,294
	MaxResident int64 // resident memory of the process, bytes
}

// LimitKind says which limit ended the work.
type LimitKind uint8

const (
	LimitStates LimitKind = iota + 1
	LimitMemory
	LimitTime
	LimitInterrupt
)

// LimitError ends work that reached a limit. What was computed before it is valid.
type LimitError struct {
	Kind LimitKind
	Msg  string
}

func (e *LimitError) Error() string { return e.Msg }

// contextError turns the end of a context into a LimitError.
func contextError(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return &LimitError{LimitTime, "the time limit is reached"}
	default:
		return &LimitError{LimitInterrupt, "interrupted"}
	}
}

// check returns an error if a limit on memory or time is reached. It reads the state
// of the process: call it every few thousand steps.
func (l *Limits) check(ctx context.Context) error {
	if err := contextError(ctx); err != nil {
		return err
	}
	if l.MaxResident > 0 {
		if now := Resident(); now > l.MaxResident {
			return &LimitError{LimitMemory, fmt.Sprintf("the memory limit of %d MiB is reached (%d MiB resident)", l.MaxResident>>20, now>>20)}
		}
	}
	return nil
}

// Resident returns the resident memory of the process in bytes; where the system does
// not tell, the memory that the Go runtime holds.
func Resident() int64 {
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := bytes.Fields(b); len(f) > 1 {
			if pages, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()) - int64(sample[1].Value.Uint64())
}

// PeakResident returns the largest resident memory of the process so far in bytes, or
// Resident where the system does not tell.
func PeakResident() int64 {
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		for _, line := range bytes.Split(b, []byte("\n")) {
			if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
				if kib, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64); err == nil {
					return kib << 10
				}
			}
		}
	}
	return Resident()
}
