//! What becomes of the programs of a run: who is not there any more, and what is missing of what
//! they wrote.

use std::time::Duration;

use vtime::VirtualSpan;

use super::{Over, RunEvent, Session};
use crate::nodes::orders::Exited;
use crate::run::parts;
use results::RunFolder;
use results::doubt::Loss;
use results::record::{EndedHow, ProgramEnd};
use scenario::model::OnExit;

/// How long the agent may take to be gone after its last word.
const GONE_LONGEST: Duration = Duration::from_secs(1);

/// How far captures may stay behind the clock; the emulator writes them ten times as often.
const CAPTURES_BEHIND_MAX: VirtualSpan = VirtualSpan::from_ms(1000);

impl Session<'_> {
    pub(super) fn exited(&mut self, exited: &Exited) -> Option<Over> {
        self.cpu_s.insert(exited.program.clone(), exited.cpu_s);
        if exited.stopped {
            return None;
        }
        let at = self.scenario_time(exited.at_ns);
        let end = match (exited.code, exited.signal) {
            (Some(code), _) => ProgramEnd::Exited { code },
            (None, signal) => ProgramEnd::Killed { signal: signal.unwrap_or(0) },
        };
        let text = format!("program `{}` {end} at {at}", exited.program);
        self.log.line(Some(at), &text);
        self.ended(&exited.program, end.clone(), at);
        // Where the scenario allows it to end, only how it ended can be worth a look.
        if end == (ProgramEnd::Exited { code: 0 }) && self.may_end(&exited.program) {
            return None;
        }
        self.gone(&exited.program, at, text)
    }

    pub(super) fn ended(&mut self, name: &str, end: ProgramEnd, at: VirtualSpan) {
        for program in self.record.programs.iter_mut().filter(|program| program.name == name) {
            program.ended_ns = (end != ProgramEnd::NotStarted).then_some(at.as_ns());
            program.end = end.clone();
        }
        self.account.change();
    }

    /// A program is not there; the run is over unless the scenario allows that.
    pub(super) fn gone(&mut self, name: &str, at: VirtualSpan, why: String) -> Option<Over> {
        if self.may_end(name) {
            self.warn(Some(at), why);
            return None;
        }
        Some(Over::part_failed(why))
    }

    fn may_end(&self, name: &str) -> bool {
        let planned = self.scenario.nodes.iter().flat_map(|node| &node.programs);
        planned.filter(|program| program.name == name).any(|one| one.on_exit == OnExit::Ignore)
    }

    /// What runs now was stopped with the run; what nobody has seen start did not, and a run without a
    /// program that it is to have is not the one that was asked for.
    pub(super) fn settle_programs(&mut self, over: &mut Over) {
        let mut absent = Vec::new();
        for program in &mut self.record.programs {
            match program.end {
                ProgramEnd::Starting => {
                    program.end = ProgramEnd::NotStarted;
                    absent.push((program.name.clone(), program.node.clone()));
                }
                ProgramEnd::Running => program.end = ProgramEnd::Stopped,
                _ => {}
            }
        }
        if over.how != EndedHow::Complete {
            return;
        }
        for (name, node) in absent {
            let text = format!("program `{name}` in {node} had not started when the run ended");
            if over.how == EndedHow::Complete && !self.may_end(&name) {
                *over = Over::part_failed(text);
            } else {
                self.warn(None, text);
            }
        }
    }

    /// Waits for the last output of programs, and records what did not come.
    pub(super) fn hear_out(&mut self) {
        const REASON: &str = "the last output is missing";
        let seen = self.scenario_time(self.seen_ns);
        let least = VirtualSpan::ZERO - self.scenario.settle;
        let mut lost = Vec::new();
        for (number, part) in self.parts.iter_mut().enumerate() {
            let from_ns = (part.lost.unwrap_or(seen) - CAPTURES_BEHIND_MAX).max(least).as_ns();
            if part.lost.is_some() {
                // Its relay may be there, and send home what there is.
                part.agent.outputs_within(GONE_LONGEST);
            }
            if part.is_gone {
                // Nothing more comes, also where it only stands still.
                part.agent.kill();
            }
            // Of whom the agent said so, if it still could.
            let unheard = part.last.as_ref().map(|last| &*last.unheard);
            let agent_told = unheard.is_some();
            let heard_out = part.agent.outputs_within(GONE_LONGEST);
            if !heard_out {
                part.agent.kill();
            }
            let unheard = unheard.filter(|_| heard_out);
            lost.extend(part.agent.last_lines().losses(unheard, REASON));
            if !agent_told && self.scenario.captures {
                let files = parts::captured(self.scenario, number).into_iter();
                lost.extend(files.map(RunFolder::capture_name).map(|file| {
                    let reason = part.says(&format!(
                        "{file} lacks frames: the agent ended before it wrote them"
                    ));
                    Loss { file, from_ns, reason }
                }));
            }
        }
        lost.retain(|loss| self.record.losses.iter().all(|known| known.file != loss.file));
        lost.into_iter().for_each(|loss| self.lose(loss));
        // What was lost while everything ended.
        while let Ok(happened) = self.events.try_recv() {
            if let RunEvent::Lost(loss) = happened {
                self.lose(loss);
            }
        }
    }
}
