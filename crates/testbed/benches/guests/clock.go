// Prints what one time.Now() costs: nanoseconds per call, one line for each batch of calls.
// Go reads clocks through the vDSO without libc. As in clock.c the clock under test also takes
// the time of a batch, and a first batch is not printed.
//
// Usage: clock BATCHES CALLS
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var now time.Time

func readClock(calls int) {
	for i := 0; i < calls; i++ {
		now = time.Now()
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: clock BATCHES CALLS")
		os.Exit(64)
	}
	batches, errBatches := strconv.Atoi(os.Args[1])
	calls, errCalls := strconv.Atoi(os.Args[2])
	if errBatches != nil || errCalls != nil {
		fmt.Fprintln(os.Stderr, "clock: BATCHES and CALLS are whole numbers")
		os.Exit(64)
	}
	readClock(calls)
	for batch := 0; batch < batches; batch++ {
		begin := time.Now()
		readClock(calls)
		fmt.Printf("%.3f\n", float64(time.Since(begin).Nanoseconds())/float64(calls))
	}
}
