//! One run on the page: its claim and verdict, the charts, the contenders and their configuration.

use maud::{Markup, html};

use super::{HtmlPage, badge, chart, run_id, tables};
use crate::report::aim_table::AimTable;
use crate::report::text::date;
use crate::report::view::{MeasureView, RunView};
use crate::result::ClaimVerdict;

impl HtmlPage<'_> {
    /// Returns a run's part of the page.
    pub(super) fn run(&self, number: usize, view: &RunView<'_>) -> Markup {
        let run = view.run;
        html! {
            section class="run" id=(run_id(number)) {
                h2 { code { (run.experiment) } ": " (run.title) }
                dl {
                    dt { "Source" } dd { (run.source) }
                    dt { "Claim" } dd { (run.claim) }
                    @for verdict in &view.verdicts { dt { "Verdict" } dd { (reasons(verdict)) } }
                    @if view.verdicts.is_empty() { dt { "Verdict" } dd { "none: the run did not finish" } }
                    dt { "Measured" } dd { (date(run.started_unix_s)) " by SkeinDB " (run.version) }
                    dt { "On" } dd { (self.machines.link(&run.machine)) }
                    @for remark in view.remarks() { dt { "Note" } dd { (remark) } }
                }
                @if view.measures.is_empty() { p class="warning" { "This run has no figures." } }
                @if let Some(aims) = AimTable::of(view) {
                    h3 { "Aims" }
                    div class="wide" { (tables::aims(&aims)) }
                }
                div class="charts" {
                    @for (place, measure) in view.measures.iter().enumerate() {
                        (self.measure(&format!("{}-{}", run_id(number), place + 1), measure))
                    }
                }
                (about(view))
            }
        }
    }

    fn measure(&self, id: &str, measure: &MeasureView<'_>) -> Markup {
        let curves = measure.quantiles().next().is_some();
        html! {
            div class="measure" id=(id) {
                h3 { (measure.name) }
                (chart::measure(measure, &self.palette))
                details { summary { "Figures" } div class="wide" { (tables::figures(measure)) } }
            }
            @if curves {
                div class="measure" {
                    h3 { (measure.name) ", quantiles" }
                    (chart::quantiles(measure, &self.palette))
                    details { summary { "Figures" } div class="wide" { (tables::quantiles(measure)) } }
                }
            }
        }
    }
}

/// Returns an answer with its reasons, one per line.
fn reasons(verdict: &ClaimVerdict) -> Markup {
    let reasons: Vec<_> = verdict.why.split("; ").collect();
    html! {
        (badge(verdict.answer)) " "
        @if let [reason] = *reasons {
            (reason)
        } @else {
            ul { @for reason in reasons { li { (reason) } } }
        }
    }
}

/// Returns contenders, absent ones, setting and command.
fn about(view: &RunView<'_>) -> Markup {
    let run = view.run;
    let contenders: Vec<_> =
        run.contenders.iter().map(|contender| (&*contender.name, &*contender.about)).collect();
    let absent: Vec<_> = run.absent.iter().map(|absent| (&*absent.name, &*absent.why)).collect();
    let setting: Vec<_> = run.setting.iter().map(|(name, value)| (&**name, &**value)).collect();
    html! {
        p { "Measure it again:" }
        pre { code { (run.command) } }
        (pairs("Contenders and their configuration", &contenders))
        (pairs("Not measured, and why", &absent))
        (pairs("Setting", &setting))
    }
}

/// Returns a foldable list of names with texts.
fn pairs(title: &str, all: &[(&str, &str)]) -> Markup {
    html! {
        @if !all.is_empty() {
            details {
                summary { (title) " (" (all.len()) ")" }
                table class="text" { @for (name, text) in all { tr { td { (name) } td { (text) } } } }
            }
        }
    }
}
