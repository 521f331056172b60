// Many goroutines that sleep, tick and time out while others compute, so that the runtime
// preempts them by signals all the time. Prints "ok", or who was early.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

var early atomic.Int64

func check(what string, begin time.Time, asked time.Duration) {
	if passed := time.Since(begin); passed < asked {
		fmt.Printf("%s of %v ended after %v\n", what, asked, passed)
		early.Add(1)
	}
}

func sleeper(number int) {
	for round := 0; round < 5; round++ {
		asked := time.Duration(1+(number*7+round*3)%11) * time.Millisecond
		begin := time.Now()
		switch number % 4 {
		case 0:
			time.Sleep(asked)
			check("sleep", begin, asked)
		case 1:
			ticker := time.NewTicker(asked)
			<-ticker.C
			<-ticker.C
			ticker.Stop()
			check("two ticks", begin, 2*asked)
		case 2:
			within, cancel := context.WithTimeout(context.Background(), asked)
			<-within.Done()
			cancel()
			check("context", begin, asked)
		default:
			<-time.After(asked)
			check("after", begin, asked)
		}
	}
}

func main() {
	var sleepers sync.WaitGroup
	var done atomic.Bool
	for i := 0; i < 2; i++ {
		go func() {
			for sum := 0; !done.Load(); sum++ {
			}
		}()
	}
	for i := 0; i < 200; i++ {
		sleepers.Add(1)
		go func() { defer sleepers.Done(); sleeper(i) }()
	}
	sleepers.Wait()
	done.Store(true)
	if early.Load() > 0 {
		os.Exit(1)
	}
	fmt.Println("ok", time.Now().Year() < 2002)
}
