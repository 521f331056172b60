"""The parts of boards that need no guest: arguments, commands, what ssh and scenarios are told, the first archive."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "kernel")]

import access
import spread
import system
from board import Board, ethernet
from options import PROJECT, Options, parse, rates

STATE = Path("/state")


def boards(count: int) -> list[Board]:
    return [Board(number, 2200 + number, 0) for number in range(1, count + 1)]


class Arguments(unittest.TestCase):
    def refused(self, *words: str) -> str:
        """These must be refused: what is said."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as caught:
            parse(list(words))
        self.assertEqual(caught.exception.code, 2)
        return said.getvalue()

    def test_without_arguments_there_are_four_boards_whose_clocks_agree(self) -> None:
        options = parse([])
        self.assertEqual((options.count, options.ppm, options.command), (4, [0] * 4, []))
        self.assertTrue(options.state.is_absolute())

    def test_what_stands_after_two_dashes_is_the_command(self) -> None:
        options = parse(["--count", "2", "--", "qcycle", "run", "--pace", "skip"])
        self.assertEqual(options.command, ["qcycle", "run", "--pace", "skip"])

    def test_rates_are_for_the_first_boards(self) -> None:
        self.assertEqual(rates("0,50,-50", 4), [0, 50, -50, 0])
        self.assertEqual(parse(["--clock-ppm=-500,500", "--count", "2"]).ppm, [-500, 500])

    def test_what_cannot_be_is_refused(self) -> None:
        for words, said in [
            (["--count", "1"], "from 2 to 32"),
            (["--memory", "10"], "--memory"),
            (["--clock-ppm", "0,501"], "at most 500 ppm"),
            (["--clock-ppm", "0,fast"], "no list of whole numbers"),
            (["--clock-ppm", "1,2,3", "--count", "2"], "3 rates for 2 boards"),
            (["--settle", "long"], "no time such as"),
            (["--state", "/" + "x" * 100], "too long"),
            (["--scenario", "/nowhere"], "there is no /nowhere/scenario.yaml"),
        ]:
            with self.subTest(words=words):
                self.assertIn(said, self.refused(*words))


class Commands(unittest.TestCase):
    def options(self, **changed: object) -> Options:
        return parse([])._replace(state=STATE, **changed)

    def test_a_board_is_told_its_address_and_the_rate_of_its_clock(self) -> None:
        board = Board(3, 2203, -50)
        command = board.joined(self.options(), Path("/kernel"), Path("/files"), kvm=False)
        self.assertIn("board=3 host=10.1.0.13 ppm=-50", command[command.index("-append") + 1])
        self.assertIn("user,id=ssh,restrict=on,hostfwd=tcp:127.0.0.1:2203-:22", command)
        self.assertIn("tcg", command[command.index("-machine") + 1])

    def test_the_gpio_device_comes_first_so_that_its_chip_is_the_one_that_is_told(self) -> None:
        command = boards(1)[0].joined(self.options(), Path("/kernel"), Path("/files"), kvm=True)
        devices = [after for word, after in zip(command, command[1:], strict=False) if word == "-device"]
        self.assertTrue(devices[0].startswith("vhost-user-gpio-pci"), devices)
        self.assertEqual(access.CHIP, "virtio0")

    def test_each_board_has_a_place_on_the_ethernet(self) -> None:
        command = " ".join(ethernet(STATE, 3))
        for board in boards(3):
            place = f"addr.path=/state/ethernet{board.number}"
            self.assertIn(place, command)
            joined = board.joined(self.options(), Path("/kernel"), Path("/files"), kvm=False)
            self.assertIn(f"stream,id=ethernet,addr.type=unix,{place}", joined)


class Told(unittest.TestCase):
    def test_ssh_refuses_whoever_has_not_the_key(self) -> None:
        config = access.ssh_config(STATE, boards(2))
        self.assertIn("Host board2\n  HostName 127.0.0.1\n  Port 2202\n", config)
        self.assertIn("StrictHostKeyChecking yes", config)
        known = access.known_hosts(boards(2), "ssh-ed25519 AAAA")
        self.assertEqual(known, "board1 ssh-ed25519 AAAA\nboard2 ssh-ed25519 AAAA\n")

    def test_nodes_are_spread_over_boards(self) -> None:
        text = "scenario: s\nnodes:\n  a:\n    address: 1\n  b:\n    address: 2\n  c:\n    address: 3\nlinks:\n  - x\n"
        spread_text, used = spread.spread(text, 2, "free", lambda count: f"hosts: {count}\n")
        self.assertEqual(used, 2)
        self.assertIn("\nsync: free\nhosts: 2\n\nnodes:\n  a:\n    host: board1\n    address: 1\n", spread_text)
        self.assertIn("  b:\n    host: board2\n", spread_text)
        self.assertIn("  c:\n    host: board1\n", spread_text)

    def test_programs_may_have_longer_to_begin(self) -> None:
        for text in ("scenario: s\nsettle: 3 s\nnodes:\n  a:\n", "scenario: s\nnodes:\n  a:\n"):
            self.assertEqual(spread.with_settle(text, "40 s"), "scenario: s\nsettle: 40 s\nnodes:\n  a:\n")

    def test_a_scenario_that_cannot_be_spread_is_none(self) -> None:
        for text in ("scenario: s\n", "x: 1\nhosts: {}\nnodes:\n  a:\n    address: 1\n", "x: 1\nnodes: {a: {}}\n"):
            with self.subTest(text=text), self.assertRaises(spread.NotSpread):
                spread.spread(text, 2, "granted", str)

    def test_the_scenarios_for_boards_use_as_many_as_they_have_nodes(self) -> None:
        for name, nodes in (("minimal", 2), ("pollers", 4), ("voltage-stability", 2)):
            text = (PROJECT / "scenarios" / name / "scenario.yaml").read_text()
            block = access.hosts_block(STATE, boards(4), name, "module")
            _, used = spread.spread(text, 4, "granted", lambda _, block=block: block)
            self.assertEqual(used, nodes)


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_modules_are_loaded_in_the_order_in_which_they_are_named(self) -> None:
        modules = [self.folder / "b.ko", self.folder / "a.ko"]
        for module in modules:
            module.write_bytes(b"module")
        *files, order = system.of_modules(modules)
        self.assertEqual([path for path, _, _ in files], ["modules/b.ko", "modules/a.ko"])
        self.assertEqual(order, ("modules/order", system.FILE, b"b.ko\na.ko\n"))

    def test_a_folder_comes_with_its_links_and_without_what_python_makes(self) -> None:
        (self.folder / "__pycache__").mkdir()
        (self.folder / "__pycache__/x.pyc").touch()
        (self.folder / "run.sh").touch(mode=0o700)
        (self.folder / "link").symlink_to("run.sh")
        self.assertEqual(list(system.of_folder(self.folder, "s")), [
            ("s", system.FOLDER, b""), ("s/link", 0o120777, b"run.sh"), ("s/run.sh", system.PROGRAM, b""),
        ])

    def test_old_and_new_folders_of_debian_are_one_in_a_board(self) -> None:
        for path in ("lib/gnu/libc.so.6", "usr/lib/gnu/libz.so.1", "usr/share/doc/x", "bin/busybox"):
            place = self.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        names = {path for path, mode, _ in system.System(self.folder).files() if mode != system.FOLDER}
        self.assertEqual(names, {"usr/lib/gnu/libc.so.6", "usr/lib/gnu/libz.so.1", "usr/bin/busybox"})
        links = {path: content for path, mode, content in system.folders() if mode == 0o120777}
        self.assertEqual(links["lib64"], b"usr/lib64")


if __name__ == "__main__":
    unittest.main()
