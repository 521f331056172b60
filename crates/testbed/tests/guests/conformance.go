// The guest of the conformance suite in Go: what the runtime waits with, and calls made past it.
// Says "ready" when it is about to wait, waits when its gate is closed, and helpers act when its
// trigger is, as the guest in C does.
//
//	conformance list
//	conformance call CONDITION CALL PHASE
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	shortNs = 240 * time.Millisecond
	longNs  = 1000 * time.Second
	gate    = 8
	trigger = 9
)

// One wait as it happens: what is asked for, and what a helper needs to end it.
type wait struct {
	asked   time.Duration
	pipe    [2]int
	channel chan bool
	word    uint32
	a, b    net.Conn
	cancel  context.CancelFunc
	context context.Context
}

type call struct {
	name  string
	until func(*wait) bool
	wake  func(*wait)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func number(result uintptr, errno syscall.Errno, over syscall.Errno) bool {
	if errno == 0 {
		return result > 0
	}
	if errno != over {
		must(errno)
	}
	return false
}

func span(w *wait) *syscall.Timespec {
	t := syscall.NsecToTimespec(int64(w.asked))
	return &t
}

func byNanosleep(w *wait) bool {
	r, _, e := syscall.Syscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(span(w))), 0, 0)
	return number(r, e, 0)
}

func byClockNanosleep(w *wait) bool {
	t := syscall.NsecToTimespec(time.Now().UnixNano() + int64(w.asked))
	at := uintptr(unsafe.Pointer(&t))
	r, _, e := syscall.Syscall6(syscall.SYS_CLOCK_NANOSLEEP, 0, 1, at, 0, 0, 0)
	return number(r, e, 0)
}

func byFutex(w *wait) bool {
	word, t := uintptr(unsafe.Pointer(&w.word)), uintptr(unsafe.Pointer(span(w)))
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_FUTEX, word, 0, 0, t, 0, 0)
		if e != syscall.EINTR {
			// EAGAIN: somebody was there before the wait.
			if e != syscall.EAGAIN {
				number(0, e, syscall.ETIMEDOUT)
			}
			return atomic.LoadUint32(&w.word) != 0
		}
	}
}

func byPoll(w *wait) bool {
	fd := struct {
		fd              int32
		events, revents int16
	}{int32(w.pipe[0]), 1, 0}
	r, _, e := syscall.Syscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&fd)), 1,
		uintptr(w.asked/time.Millisecond))
	return number(r, e, 0)
}

func byPpoll(w *wait) bool {
	fd := struct {
		fd              int32
		events, revents int16
	}{int32(w.pipe[0]), 1, 0}
	r, _, e := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fd)), 1,
		uintptr(unsafe.Pointer(span(w))), 0, 0, 0)
	return number(r, e, 0)
}

func bySelect(w *wait) bool {
	var set syscall.FdSet
	set.Bits[w.pipe[0]/64] |= 1 << (w.pipe[0] % 64)
	t := syscall.NsecToTimeval(int64(w.asked))
	n, err := syscall.Select(w.pipe[0]+1, &set, nil, nil, &t)
	must(err)
	return n > 0
}

func byEpoll(w *wait) bool {
	epoll, err := syscall.EpollCreate1(0)
	must(err)
	event := syscall.EpollEvent{Events: syscall.EPOLLIN}
	must(syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, w.pipe[0], &event))
	events := make([]syscall.EpollEvent, 1)
	n, err := syscall.EpollWait(epoll, events, int(w.asked/time.Millisecond))
	must(err)
	return n > 0
}

func write(w *wait) {
	_, err := syscall.Write(w.pipe[1], []byte{0})
	must(err)
}

func bySleep(w *wait) bool {
	time.Sleep(w.asked)
	return false
}

func byTimer(w *wait) bool {
	timer := time.NewTimer(w.asked)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-w.channel:
		return true
	}
}

func byAfter(w *wait) bool {
	done := make(chan bool)
	time.AfterFunc(w.asked, func() { close(done) })
	<-done
	return false
}

func byContext(w *wait) bool {
	within, cancel := context.WithTimeout(w.context, w.asked)
	defer cancel()
	<-within.Done()
	return !errors.Is(within.Err(), context.DeadlineExceeded)
}

func bySocket(w *wait) bool {
	must(w.a.SetReadDeadline(time.Now().Add(w.asked)))
	n, err := w.a.Read(make([]byte, 1))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		must(err)
	}
	return n > 0
}

var calls = []call{
	{"nanosleep", byNanosleep, nil},
	{"clock_nanosleep REALTIME ABSTIME", byClockNanosleep, nil},
	{"futex WAIT", byFutex, func(w *wait) {
		atomic.StoreUint32(&w.word, 1)
		syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&w.word)), 1, 1, 0, 0, 0)
	}},
	{"poll", byPoll, write},
	{"ppoll", byPpoll, write},
	{"select", bySelect, write},
	{"epoll_wait", byEpoll, write},
	{"its sleep", bySleep, nil},
	{"its queue or channel", byTimer, func(w *wait) { w.channel <- true }},
	{"its timer", byAfter, nil},
	{"its event or context", byContext, func(w *wait) { w.cancel() }},
	{"its socket with a time limit", bySocket, func(w *wait) {
		_, err := w.b.Write([]byte{0})
		must(err)
	}},
}

func byCall(clock uintptr) func() int64 {
	return func() int64 {
		var t syscall.Timespec
		syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0)
		return t.Nano()
	}
}

var begun = time.Now()

var clocks = []struct {
	name string
	read func() int64
}{
	{"clock_gettime REALTIME", func() int64 { return time.Now().UnixNano() }},
	{"clock_gettime MONOTONIC", func() int64 { return int64(time.Since(begun)) }},
	{"clock_gettime REALTIME, by call", byCall(0)},
	{"clock_gettime MONOTONIC, by call", byCall(1)},
	{"clock_gettime BOOTTIME, by call", byCall(7)},
}

func advances(read func() int64) string {
	now := func() int64 { return int64(time.Since(begun)) }
	a, first, b := now(), read(), now()
	time.Sleep(120 * time.Millisecond)
	c, last, d := now(), read(), now()
	switch {
	case c-b < int64(120*time.Millisecond):
		return "a sleep in between is early"
	case last-first+100_000 < c-b:
		return "too slow"
	case last-first-100_000 > d-a:
		return "too fast"
	}
	return "gets on as CLOCK_MONOTONIC does"
}

func act(name, phase string) {
	say := func(text string) {
		syscall.Write(1, []byte(fmt.Sprintf("%s\t%s\t%s\n", name, phase, text)))
	}
	ready := func() {
		say("ready")
		syscall.Read(gate, make([]byte, 1))
	}
	for _, clock := range clocks {
		if phase == "read" && clock.name == name {
			ready()
			say(advances(clock.read))
			return
		}
	}
	for _, c := range calls {
		if c.name != name {
			continue
		}
		w := &wait{channel: make(chan bool)}
		must(syscall.Pipe(w.pipe[:]))
		w.a, w.b = pair()
		w.context, w.cancel = context.WithCancel(context.Background())
		if phase == "woken" {
			go func() {
				syscall.Read(trigger, make([]byte, 1))
				c.wake(w)
			}()
		}
		ready()
		w.asked = longNs
		if phase == "timeout" {
			w.asked = shortNs
		}
		begin := time.Now()
		outcome := "time is over"
		if c.until(w) {
			outcome = "gets it"
		}
		if phase == "timeout" && time.Since(begin) < w.asked {
			outcome = "early: " + outcome
		}
		say(outcome)
		return
	}
	fmt.Fprintln(os.Stderr, "there is no call", name)
	os.Exit(3)
}

func pair() (net.Conn, net.Conn) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(err)
	conns := [2]net.Conn{}
	for i, fd := range fds {
		must(syscall.SetNonblock(fd, true))
		conns[i], err = net.FileConn(os.NewFile(uintptr(fd), "pair"))
		must(err)
	}
	return conns[0], conns[1]
}

func list() {
	for _, c := range calls {
		fmt.Printf("%s\ttimeout\n", c.name)
		if c.wake != nil {
			fmt.Printf("%s\twoken\n", c.name)
		}
	}
	for _, clock := range clocks {
		fmt.Printf("%s\tread\n", clock.name)
	}
}

func main() {
	if os.Args[1] == "list" {
		list()
		return
	}
	condition, name, phase := os.Args[2], os.Args[3], os.Args[4]
	own := []string{"call", "plain", name, phase}
	switch condition {
	case "exec":
		must(syscall.Exec("/proc/self/exe", append([]string{os.Args[0]}, own...), os.Environ()))
	case "vfork":
		// Files from 3 on: 8 and 9 are the pipes.
		files := make([]*os.File, 7)
		files[gate-3], files[trigger-3] = os.NewFile(gate, "gate"), os.NewFile(trigger, "trigger")
		child := exec.Command("/proc/self/exe", own...)
		child.Stdout, child.Stderr, child.ExtraFiles = os.Stdout, os.Stderr, files
		must(child.Run())
	case "thread":
		var done sync.WaitGroup
		done.Add(1)
		runtime.LockOSThread()
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			act(name, phase)
		}()
		done.Wait()
	default:
		act(name, phase)
	}
}
