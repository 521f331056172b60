"""Circles of modules are found, and only they."""

import unittest

import circles


class Circles(unittest.TestCase):
    def test_a_circle_of_siblings_is_found_at_every_level(self) -> None:
        files = {
            "lib.rs": "mod a; mod b;",
            "a.rs": "use crate::b::{self, x::Y};",
            "b/mod.rs": "mod x; mod y;",
            "b/x.rs": "fn f() { super::y::g() }",
            "b/y.rs": "use super::{x, z};\nuse std::fmt;",
            "b/z.rs": "use crate::b::y;",
        }
        self.assertEqual(circles.circles(files), [(("b",), ["x", "y", "z"])])
        files["b/z.rs"] = "pub(crate) use crate::a::Thing;"
        self.assertEqual(
            circles.circles(files), [((), ["a", "b"]), (("b",), ["x", "y"])]
        )

    def test_parents_children_tests_and_comments_make_none(self) -> None:
        files = {
            "lib.rs": "mod a; mod b;",
            "a/mod.rs": "mod inner;\nuse inner::X;\nuse crate::b::B;",
            "a/inner.rs": "use super::A;",
            "b.rs": "// use crate::a::A;\n#[cfg(test)]\nmod tests { use crate::a::A; }",
            "b_tests.rs": "use crate::a::A;",
        }
        self.assertEqual(circles.circles(files), [])
