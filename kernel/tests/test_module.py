"""What the module does in a guest, and over a wire between two."""

import errno
import unittest

from bench import (
    ASSERTED, INPUT, OUTPUT, RELEASED, ROUND_MS_MAX, STOP_ASKED, STOPPED, Bench,
)
from guest import Guest, LabError

ROUNDS = 100


class Module(Bench):
    def refused(self, guest: Guest, command: str, number: int) -> None:
        """A command must fail with this error."""
        with self.assertRaises(LabError, msg=command) as caught:
            guest.do(command)
        self.assertEqual(caught.exception.number, number, command)

    def event(self, guest: Guest, domain: int = 0) -> list[str]:
        """The next event, which must come."""
        event = guest.do(f"event {domain} {ROUND_MS_MAX}")
        self.assertNotEqual(event, [], f"no event in {guest.name}")
        return event

    def stands(self, guest: Guest, domain: int = 0) -> bool:
        """Whether a clock stands."""
        first, later = guest.do(f"now {domain}")
        return first == later

    def test_it_stays_while_it_is_in_use_and_goes_then(self) -> None:
        guest = self.guests[0]
        self.assertEqual(guest.do("open 0"), ["1", "0", "1"])
        self.refused(guest, "rmmod qcbus", errno.EAGAIN)
        # What a program maps outlives the agent.
        self.assertEqual(guest.do("keep 0"), ["1"])
        self.refused(guest, "cat /sys/class/qcbus/qcbus0/state", errno.ENOENT)
        self.refused(guest, "rmmod qcbus", errno.EAGAIN)
        guest.do("drop 0")
        guest.do("rmmod qcbus")
        self.refused(guest, "open 0", errno.ENOENT)
        guest.do(f"insmod /{self.module.name}")

    def test_a_hold_without_lines_stops_the_clock_and_its_end_does_not_start_it(self) -> None:
        guest = self.guests[0]
        self.domain(guest)
        self.assertFalse(self.stands(guest))
        guest.do("hold 0 1")
        edge, flags, edge_ns, stopped_ns, virtual_ns, latency_ns, number, lost = self.event(guest)
        self.assertEqual((edge, flags, number, lost), (ASSERTED, STOPPED, "1", "0"))
        self.assertGreater(int(stopped_ns), int(edge_ns))
        self.assertGreaterEqual(int(edge_ns) + int(latency_ns), int(stopped_ns))
        self.assertEqual(guest.do("now 0"), [virtual_ns] * 2)
        read = [guest.do(f"cat /sys/class/qcbus/qcbus0/{name}") for name in ("hold", "state", "rounds", "latency_ns")]
        self.assertEqual(read, [["1"], ["asserted"], ["1"], [latency_ns]])
        # A second hold of the same is none.
        guest.do("hold 0 1")
        guest.do("hold 0 0")
        self.assertEqual(self.event(guest)[0], RELEASED)
        self.assertTrue(self.stands(guest))
        self.assertEqual(guest.do("start 0"), ["1"])
        self.assertFalse(self.stands(guest))

    def test_an_agent_that_did_not_see_the_edge_cannot_start_the_clock(self) -> None:
        guest = self.guests[0]
        self.domain(guest)
        guest.do("hold 0 1")
        guest.do("hold 0 0")
        self.assertEqual(guest.do("start 0"), ["0"])
        self.assertTrue(self.stands(guest))

    def test_an_agent_that_changes_the_page_meanwhile_is_asked_to_stop(self) -> None:
        guest = self.guests[0]
        self.domain(guest)
        self.assertEqual(guest.do("odd 0"), ["1", "1"])
        event = self.event(guest)
        self.assertEqual(event[:2], [ASSERTED, STOP_ASKED])
        self.assertEqual(event[3:6], ["0"] * 3)

    def test_two_who_change_the_page_at_the_same_time_do_not_disturb_each_other(self) -> None:
        guest, other = self.guests
        self.domain(guest)
        self.attach(guest, debounce_us=0)
        guest.ask("race 0 800")
        # Fewer than there is room for, so that none is lost.
        for _ in range(30):
            other.do(f"pulse {OUTPUT} 1")
        self.addCleanup(other.do, "undrive")
        went_back, stops = map(int, guest.answer("race"))
        self.assertEqual(went_back, 0)
        events = []
        while event := guest.do("event 0 50"):
            events.append(event)
        flags = [event[1] for event in events if event[0] == ASSERTED]
        self.assertGreater(len(flags), 0)
        self.assertEqual(flags.count(STOPPED), stops)
        self.assertEqual(flags.count(STOPPED) + flags.count(STOP_ASKED), len(flags))
        print(f"{len(flags)} edges while the agent changed the page: {stops} stops, else requests to stop")

    def test_domains_are_apart(self) -> None:
        guest = self.guests[0]
        self.domain(guest, 0)
        self.domain(guest, 1)
        guest.do("hold 1 1")
        self.assertEqual(self.event(guest, 1)[0], ASSERTED)
        self.assertTrue(self.stands(guest, 1))
        self.assertFalse(self.stands(guest, 0))
        self.assertEqual(guest.do("event 0 0"), [])
        guest.do("hold 1 0")
        self.attach(guest)
        self.refused(guest, "attach 1 virtio0 0 1 2 20 0", errno.EBUSY)

    def test_events_that_nobody_reads_are_counted(self) -> None:
        guest = self.guests[0]
        self.domain(guest)
        for _ in range(40):
            guest.do("hold 0 1")
            guest.do("hold 0 0")
        event = self.event(guest)
        self.assertEqual((event[0], event[6], event[7]), (ASSERTED, "9", "16"))
        self.assertEqual(self.event(guest)[7], "0")

    def test_a_program_can_only_read(self) -> None:
        guest = self.guests[0]
        self.domain(guest)
        *errors, now = guest.do("program 0")
        refusals = [errno.EACCES, errno.EINVAL, errno.ENXIO, errno.ENOTTY, errno.EACCES]
        self.assertEqual(errors, [str(number) for number in refusals])
        self.assertGreater(int(now), 0)

    def test_lines_that_are_not_there_are_refused(self) -> None:
        guest = self.guests[0]
        self.domain(guest)
        for command, number in [
            ("attach 0 nothing 0 1 2 20 0", errno.ENODEV),
            ("attach 0 virtio0 0 3 2 20 0", errno.EINVAL),
            ("attach 0 virtio0 0 65535 2 20 0", errno.EINVAL),
            ("attach 0 virtio0 0 1 1 20 0", errno.EBUSY),
            ("attach 0 virtio0 0 1 2 1000001 0", errno.EINVAL),
            ("attach 0 virtio0 0 1 2 20 4", errno.EINVAL),
            ("detach 0", errno.ENOENT),
        ]:
            self.refused(guest, command, number)
        guest.do("hold 0 1")
        self.refused(guest, "attach 0 virtio0 0 1 2 20 0", errno.EBUSY)

    def test_whatever_is_asked_the_kernel_stays(self) -> None:
        guest = self.guests[0]
        self.domain(guest)
        self.assertGreater(int(guest.do("hostile 0 1 2000")[0]), 0)

    def test_a_hold_in_one_guest_stops_the_clocks_of_both(self) -> None:
        for guest in self.guests:
            self.domain(guest)
            self.attach(guest)
            self.assertFalse(self.stands(guest))
        self.guests[0].do("hold 0 1")
        for guest in self.guests:
            event = self.event(guest)
            self.assertEqual(event[:2], [ASSERTED, STOPPED])
            self.assertEqual(guest.do("now 0"), [event[4]] * 2)
        # A second one holds as well; the bus is released with the last of them.
        self.guests[1].do("hold 0 1")
        self.guests[0].do("hold 0 0")
        for guest in self.guests:
            self.assertEqual(guest.do("event 0 50"), [])
        # An agent that is gone holds nothing.
        self.guests[1].do("detach 0")
        self.assertEqual(self.event(self.guests[0])[0], RELEASED)
        self.assertTrue(self.stands(self.guests[0]))

    def test_who_comes_to_a_bus_that_is_asserted_stops(self) -> None:
        first, later = self.guests
        self.domain(first)
        self.attach(first)
        first.do("hold 0 1")
        self.domain(later)
        self.attach(later)
        self.assertEqual(self.event(later)[:2], [ASSERTED, STOPPED])

    def test_edges_within_the_debounce_time_are_one(self) -> None:
        watcher, other = self.guests
        self.domain(watcher)
        self.attach(watcher, debounce_us=300_000)
        other.do(f"pulse {OUTPUT} 3")
        self.addCleanup(other.do, "undrive")
        self.assertEqual(self.event(watcher)[0], ASSERTED)
        self.assertEqual(self.event(watcher)[0], RELEASED)
        self.assertEqual(watcher.do("event 0 400"), [])
        self.assertEqual(watcher.do("cat /sys/class/qcbus/qcbus0/rounds"), ["1"])

    def test_rounds_with_changing_holders(self) -> None:
        for inputs in (2, 1):
            with self.subTest(inputs=inputs):
                for guest in self.guests:
                    self.domain(guest)
                    self.attach(guest, inputs)
                self.show(f"module, {inputs} inputs", self.rounds(ROUNDS, self.guests))
                self.doCleanups()

    def test_lines_that_do_not_sleep_are_taken_in_the_hard_interrupt(self) -> None:
        guest = self.guests[0]
        for inputs in (2, 1):
            with self.subTest(inputs=inputs):
                self.domain(guest)
                # A hold is driven and seen at once: what bounces do is seen elsewhere.
                self.attach(guest, inputs, debounce_us=0, chip="fastwire")
                self.show(f"hard interrupt, {inputs} inputs", self.rounds(ROUNDS, [guest]))
                self.doCleanups()
        self.domain(guest)
        self.attach(guest, 1, debounce_us=200_000, chip="fastwire")
        for level in (1, 0, 1, 0):
            guest.do(f"hold 0 {level}")
        self.assertEqual([self.event(guest)[0], self.event(guest)[0]], [ASSERTED, RELEASED])
        self.assertEqual(guest.do("event 0 300"), [])

    def test_user_space_takes_the_same_edges(self) -> None:
        for guest in self.guests:
            guest.do(f"watch {INPUT} 0")
            self.addCleanup(guest.do, "unwatch")
            guest.do(f"drive {OUTPUT} 0")
            self.addCleanup(guest.do, "undrive")
        self.show("user space, character device", self.rounds_in_user_space(ROUNDS))

    def test_user_space_can_debounce(self) -> None:
        watcher, other = self.guests
        watcher.do(f"watch {INPUT} 200000")
        self.addCleanup(watcher.do, "unwatch")
        other.do(f"pulse {OUTPUT} 3")
        self.addCleanup(other.do, "undrive")
        self.assertEqual(watcher.do("edge 600"), [])
        other.do(f"drive {OUTPUT} 1")
        self.assertEqual(watcher.do(f"edge {ROUND_MS_MAX}")[0], "1")


if __name__ == "__main__":
    unittest.main()
