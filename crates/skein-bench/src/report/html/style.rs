//! The page's CSS: the hues of the palette as variables, for light and dark, then `style.css`.

use std::fmt::Write as _;

use maud::PreEscaped;

use super::chart::{DARK, HUES, LIGHT};

/// Returns the whole CSS.
pub(super) fn css() -> PreEscaped<String> {
    let mut css = format!(
        ":root{{{}}}\n@media (prefers-color-scheme: dark){{:root{{{}}}}}\n",
        variables(&LIGHT),
        variables(&DARK)
    );
    for hue in 0..HUES {
        let _ = writeln!(css, ".h{hue}{{--hue:var(--hue-{hue})}}");
    }
    css.push_str(include_str!("style.css"));
    PreEscaped(css)
}

fn variables(hues: &[&str; HUES]) -> String {
    let each: Vec<_> =
        hues.iter().enumerate().map(|(number, hue)| format!("--hue-{number}:{hue};")).collect();
    each.concat()
}
