//! What a user is told of programs that end, without being asked to look for it.

use results::record::ProgramEnd;

use crate::run::harness::{Finished, Place};

/// The place of a run, and how it ended.
fn run_of(program: &str, on_exit: &str) -> Option<(Place, Finished)> {
    let place = Place::for_root(&format!(
        "scenario: words
duration: 1 s
settle: 100 ms
nodes:
  one:
    programs:
      - name: other
        run: [sh, -c, {program:?}]
        on_exit: {on_exit}
      - {{name: sleeper, run: [sleep, infinity]}}
"
    ))?;
    let run = place.run(&[]);
    Some((place, run))
}

#[test]
fn a_program_that_fails_has_its_last_lines_told_with_the_path_of_its_log() {
    let broken = "echo polling; for n in 1 2 3 4 5 6 7 8 9; do echo line $n >&2; done; \
                  printf 'no such \\033[31mregister\\n' >&2; exit 3";
    for (on_exit, code) in [("fail", 12), ("ignore", 0)] {
        let Some((_place, run)) = run_of(broken, on_exit) else { return };
        let run = run.expect(code);
        assert!(
            run.out.contains("program `other` exited with 3; the last lines of "),
            "{}",
            run.out
        );
        assert!(run.out.contains("programs/other.log:\n  | line 3\n  | line 4\n"), "{}", run.out);
        assert!(run.out.contains("  | no such \\u{1b}[31mregister\n"), "{}", run.out);
        assert!(!run.out.contains('\x1b') && !run.out.contains("polling"), "{}", run.out);
        let program = &run.record().programs[0];
        assert_eq!(program.end, ProgramEnd::Exited { code: 3 });
        assert_eq!(program.last_words.len(), 8, "{:?}", program.last_words);
    }
}

#[test]
fn a_program_that_may_end_and_ends_well_is_nothing_to_look_at() {
    let Some((_place, run)) = run_of("echo done", "ignore") else { return };
    let run = run.expect(0);
    let record = run.record();
    assert_eq!(record.programs[0].end, ProgramEnd::Exited { code: 0 });
    assert_eq!(record.warnings, Vec::<String>::new());
    assert!(!run.out.contains("warning") && !run.out.contains("last lines"), "{}", run.out);
    assert!(record.programs[0].last_words.is_empty());
}
