//! The machines section of the page.

use maud::{Markup, html};

use super::chart;
use crate::report::probe::{groups, reads};
use crate::result::Machine;

/// The machines of a page, without duplicates.
pub(super) struct Machines<'a> {
    all: Vec<&'a Machine>,
}

impl<'a> Machines<'a> {
    /// Collects the machines, without duplicates.
    pub fn of(machines: impl Iterator<Item = &'a Machine>) -> Self {
        let mut all: Vec<&Machine> = Vec::new();
        for machine in machines {
            if !all.contains(&machine) {
                all.push(machine);
            }
        }
        Self { all }
    }

    /// Returns their section of the page.
    pub fn section(&self) -> Markup {
        html! {
            @for (number, machine) in self.all.iter().enumerate() {
                section class="machine" id=(id(number)) {
                    h2 { (self.name(number)) }
                    p { (machine) }
                    @if let Some(probe) = &machine.probe {
                        p { "Probe: " (reads(probe)) "; " (groups(probe)) "." }
                        div class="charts" { div class="measure" {
                            h3 { "A dependent random read, on huge pages" }
                            (chart::probe(probe))
                        } }
                    } @else {
                        p class="quiet" { "Not probed. Run " code { "skein probe" } " to measure the cost of its memory." }
                    }
                }
            }
        }
    }

    /// Returns a link to a machine.
    pub fn link(&self, machine: &Machine) -> Markup {
        let number = self.all.iter().position(|known| *known == machine).unwrap_or(0);
        html! { a href=(format!("#{}", id(number))) { (self.name(number)) } ": " (machine) }
    }

    fn name(&self, number: usize) -> String {
        if self.all.len() == 1 { "The machine".to_owned() } else { format!("Machine {}", number + 1) }
    }
}

fn id(number: usize) -> String {
    format!("machine-{}", number + 1)
}
