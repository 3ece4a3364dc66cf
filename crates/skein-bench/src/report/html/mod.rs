//! The page: one HTML file without other files, network or scripts. It follows the browser's
//! preference for dark or light by CSS alone.
//!
//! The parts of the page: `machine` (one section), then for each `run` its `chart`s and `tables`;
//! `style` has the CSS.
//!
//! All text from the results passes through `maud`, which escapes it, and through
//! [`sanitized`].

mod chart;
mod machine;
mod run;
mod style;
mod tables;

use maud::{DOCTYPE, Markup, html};

use self::chart::Palette;
use self::machine::Machines;
use super::figures::{answer, sign};
use super::text::{date, sanitized};
use super::view::{ResultsView, RunView};
use crate::result::{ClaimAnswer, ResultLine};

/// The state that all parts of a page share.
struct HtmlPage<'a> {
    palette: Palette,
    machines: Machines<'a>,
}

/// Formats a results file as an HTML page.
pub fn html(lines: &[ResultLine]) -> String {
    let view = ResultsView::of(lines);
    let names = view.runs.iter().flat_map(|run| &run.measures).flat_map(|measure| &measure.contenders);
    let page = HtmlPage {
        palette: Palette::of(names.copied()),
        machines: Machines::of(view.runs.iter().map(|run| &run.run.machine)),
    };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "SkeinDB: bench results" }
                style { (style::css()) }
            }
            body {
                header { (head(&view)) }
                nav { (contents(&view)) }
                main {
                    (page.machines.section())
                    @for (number, run) in view.runs.iter().enumerate() { (page.run(number, run)) }
                }
                footer { p class="quiet" { "Made from a results file of skein bench." } }
            }
        }
    };
    sanitized(&markup.into_string())
}

/// Returns the anchor of a run, for links.
fn run_id(number: usize) -> String {
    format!("run-{}", number + 1)
}

fn head(view: &ResultsView<'_>) -> Markup {
    let started = || view.runs.iter().map(|run| run.run.started_unix_s);
    html! {
        h1 { "SkeinDB: bench results" }
        @if let (Some(first), Some(last)) = (started().min(), started().max()) {
            p class="quiet" {
                (view.runs.len()) @if view.runs.len() == 1 { " run, " } @else { " runs, " }
                (date(first)) @if first / 60 != last / 60 { " to " (date(last)) }
            }
        } @else {
            p { "There is no run in these results." }
        }
        @if view.strays > 0 {
            p class="warning" { (view.strays) " lines belong to runs that are not in these results." }
        }
        details {
            summary { "How to read this" }
            p {
                "Contenders take turns for several rounds, so compare the ratios within one chart. \
                 A bar or a point is "
                "the median of the rounds. A thin line with caps spans the rounds from the least \
                 to the greatest. The "
                "spread is the distance between those two as a fraction of the median. Curves show \
                 the fraction of the "
                "operations that took no longer than a time. A contender looks the same on every \
                 chart. The figures "
                "are below each chart; point at a mark to see its figure."
            }
        }
    }
}

fn contents(view: &ResultsView<'_>) -> Markup {
    html! {
        h2 { "Contents" }
        ol {
            @for (number, run) in view.runs.iter().enumerate() {
                li {
                    a href=(format!("#{}", run_id(number))) { code { (run.run.experiment) } ": " (run.run.title) }
                    " " (badges(run))
                }
            }
        }
    }
}

/// Returns the badges with the answers to a run's claims.
fn badges(run: &RunView<'_>) -> Markup {
    html! {
        @for given in [ClaimAnswer::Holds, ClaimAnswer::DoesNotHold, ClaimAnswer::CannotBeTested] {
            @let count = run.verdicts.iter().filter(|verdict| verdict.answer == given).count();
            @if count > 0 { (badge(given)) @if count > 1 { " × " (count) " " } }
        }
        @if run.verdicts.is_empty() { span class="badge quiet" { "? no verdict" } }
    }
}

fn badge(given: ClaimAnswer) -> Markup {
    html! { span class={ "badge " (answer_class(given)) } { (sign(given)) " " (answer(given)) } }
}

/// Returns the class of an answer, which decides its colour.
fn answer_class(given: ClaimAnswer) -> &'static str {
    match given {
        ClaimAnswer::Holds => "yes",
        ClaimAnswer::DoesNotHold => "no",
        ClaimAnswer::CannotBeTested => "quiet",
    }
}
