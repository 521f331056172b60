//! Finds and opens DSS C-API, the OpenDSS engine behind a C interface.
//!
//! The library is opened, not linked: it comes with a Python package whose file name carries a
//! hash, and `qcycle` must start without it for scenarios without a plant. Only this file knows
//! raw pointers; it offers the calls of the engine as safe methods on [`Context`], one engine
//! each. Objects are handled by [`Handle`]s that are only valid in the context they came from.
//!
//! Signatures: `dss_capi_ctx.h` and `dss_capi.h` of `dss_python_backend` 0.14.5. The debug build
//! `libdss_capid` beside it is left alone: it is several times slower.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, PoisonError};

use libloading::Library;

use super::error::PlantError;

/// One engine with its own circuit. Not shared between threads, but free to move.
#[derive(Debug)]
pub(super) struct Context {
    calls: Calls,
    engine: NonNull<c_void>,
}

// SAFETY: an engine keeps its state in its context and has no ties to the thread that made it;
// all methods that touch it take `&mut self` or are reads behind `&self` of a type that is not
// `Sync`, so no two threads are in one engine at once.
unsafe impl Send for Context {}

/// An element of the circuit of one [`Context`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle(NonNull<c_void>);

// SAFETY: a handle is an address that only methods of its context use, and those are called by
// one thread at a time.
unsafe impl Send for Handle {}

type Engine = *const c_void;
type Object = *mut c_void;
type Texts = *mut *mut c_char;

/// What the engine answers, or the number of its error and its words.
pub(super) type Answer<T> = Result<T, (i32, String)>;

/// Declares the table of functions and how it is filled from the library.
macro_rules! calls {
    ($($field:ident = $symbol:literal: fn($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        #[derive(Clone, Copy, Debug)]
        struct Calls {
            $($field: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
        }

        impl Calls {
            fn load(library: &'static Library) -> Result<Self, libloading::Error> {
                // SAFETY: each signature is copied from the headers of the package.
                unsafe { Ok(Self { $($field: *library.get($symbol)?,)* }) }
            }
        }
    };
}

calls! {
    start = "DSS_Start": fn(i32) -> u16;
    new = "ctx_New": fn() -> Engine;
    dispose = "ctx_Dispose": fn(Engine);
    allow_forms = "ctx_DSS_Set_AllowForms": fn(Engine, u16);
    allow_editor = "ctx_DSS_Set_AllowEditor": fn(Engine, u16);
    allow_shell = "ctx_DSS_Set_AllowDOScmd": fn(Engine, u16);
    allow_chdir = "ctx_DSS_Set_AllowChangeDir": fn(Engine, u16);
    version = "ctx_DSS_Get_Version": fn(Engine) -> *const c_char;
    command = "ctx_Text_Set_Command": fn(Engine, *const c_char);
    result = "ctx_Text_Get_Result": fn(Engine) -> *const c_char;
    error_number = "ctx_Error_Get_Number": fn(Engine) -> i32;
    error_text = "ctx_Error_Get_Description": fn(Engine) -> *const c_char;
    set_number = "ctx_Solution_Set_Number": fn(Engine, i32);
    solve = "ctx_Solution_Solve": fn(Engine);
    converged = "ctx_Solution_Get_Converged": fn(Engine) -> u16;
    node_count = "ctx_Circuit_Get_NumNodes": fn(Engine) -> i32;
    register_event = "ctx_DSSEvents_RegisterAlt": fn(Engine, i32, Event) -> u16;
    voltages = "ctx_YMatrix_getVpointer": fn(Engine, *mut *const f64);
    nodes = "ctx_Circuit_Get_YNodeOrder": fn(Engine, *mut Texts, *mut i32);
    elements = "ctx_Circuit_Get_AllElementNames": fn(Engine, *mut Texts, *mut i32);
    activate = "ctx_Circuit_SetActiveElement": fn(Engine, *const c_char) -> i32;
    active = "ctx_DSSElement_Get_Pointer": fn(Engine) -> Object;
    properties = "ctx_DSSElement_Get_AllPropertyNames": fn(Engine, *mut Texts, *mut i32);
    get_float = "Obj_GetFloat64": fn(Object, i32) -> f64;
    set_float = "Obj_SetFloat64": fn(Object, i32, f64, u32);
    get_whole = "Obj_GetInt32": fn(Object, i32) -> i32;
    set_whole = "Obj_SetInt32": fn(Object, i32, i32, u32);
    get_word = "Obj_GetAsString": fn(Object, i32) -> *const c_char;
    free_texts = "DSS_Dispose_PPAnsiChar": fn(*mut Texts, i32);
    currents = "Alt_CE_Get_Currents": fn(*mut *mut f64, *mut i32, Object);
    node_order = "Alt_CE_Get_NodeOrder": fn(*mut *mut i32, *mut i32, Object);
    is_open = "Alt_CE_IsOpen": fn(Object, i32, i32) -> i32;
    open = "Alt_CE_Open": fn(Object, i32, i32);
    close = "Alt_CE_Close": fn(Object, i32, i32);
    free_floats = "DSS_Dispose_PDouble": fn(*mut *mut f64);
    free_integers = "DSS_Dispose_PInteger": fn(*mut *mut i32);
}

/// What the engine calls when something happens: itself, the event, and two more of no use here.
type Event = unsafe extern "C" fn(Engine, i32, i32, *mut c_void);

/// `AltDSSEvent_Legacy_StepControls`: one step is solved, also within a call for many.
const STEP_SOLVED: i32 = 2;
/// `AltDSSEvent_ReprocessBuses`: nodes may have other places now.
const NODES_CHANGED: i32 = 4;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct SolveEvents {
    pub(super) steps: i64,
    /// Those of them that did not converge, or whose voltages are no numbers; from 0.
    pub(super) failed: Vec<Range<i64>>,
    /// Whether nodes may have other places now.
    pub(super) nodes_changed: bool,
}

impl SolveEvents {
    fn step(&mut self, solved: bool) {
        let step = self.steps;
        self.steps += 1;
        match self.failed.last_mut() {
            _ if solved => {}
            Some(last) if last.end == step => last.end += 1,
            _ => self.failed.push(step..step + 1),
        }
    }

    /// The last step has failed after all.
    pub(super) fn last_failed(&mut self) {
        if self.steps > 0 && self.failed.last().is_none_or(|last| last.end < self.steps) {
            self.steps -= 1;
            self.step(false);
        }
    }
}

thread_local! {
    /// The calls of the engine that this thread solves with, and what that reports. An engine calls
    /// back on the thread that called it.
    static SOLVING: RefCell<Option<(Calls, SolveEvents)>> = const { RefCell::new(None) };
}

/// Records an event. The engine says only of the last of many steps whether it converged, so
/// it is asked after each.
unsafe extern "C" fn record_event(engine: Engine, event: i32, _: i32, _: *mut c_void) {
    SOLVING.with_borrow_mut(|solving| match (solving, event) {
        (Some((calls, events)), STEP_SOLVED) => {
            // SAFETY: the engine that calls is alive and answers on its own thread.
            let solved = unsafe { (calls.converged)(engine) != 0 && has_voltages(calls, engine) };
            events.step(solved);
        }
        (Some((_, events)), NODES_CHANGED) => events.nodes_changed = true,
        _ => {}
    });
}

/// Whether all voltages are numbers: those that are none differ from nothing, and so "converge".
///
/// # Safety
/// The engine must be alive and solved, on this thread.
unsafe fn has_voltages(calls: &Calls, engine: Engine) -> bool {
    let mut volts: *const f64 = std::ptr::null();
    // SAFETY: as the caller says; the vector holds a complex number for ground and each node.
    let volts = unsafe {
        (calls.voltages)(engine, &raw mut volts);
        let nodes = usize::try_from((calls.node_count)(engine)).unwrap_or(0);
        if volts.is_null() {
            return false;
        }
        std::slice::from_raw_parts(volts, 2 * (nodes + 1))
    };
    volts.iter().all(|part| part.is_finite())
}

/// `SetterFlags_AvoidFullRecalc`: a change of power keeps the system matrix.
const AVOID_FULL_RECALC: u32 = 2;

/// Engines are made and disposed one at a time: both touch what all engines share.
static MAKING: Mutex<()> = Mutex::new(());

impl Context {
    /// A new engine from the library in `file`, without windows, editors, shell commands and
    /// changes of the working directory.
    pub(super) fn open(file: &Path) -> Result<Self, PlantError> {
        let unusable = |reason: String| PlantError::LibraryUnusable { file: file.into(), reason };
        let _one_at_a_time = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: running the initialisers of the engine is what the user asked for by naming
        // or installing this library.
        let library = unsafe { Library::new(file) }.map_err(|e| unusable(e.to_string()))?;
        // Never closed: its runtime does not survive being unloaded.
        let library: &'static Library = Box::leak(Box::new(library));
        let calls = Calls::load(library).map_err(|e| unusable(e.to_string()))?;
        // SAFETY: the engine is used only if it was made, and by nobody else yet.
        unsafe {
            if (calls.start)(0) == 0 {
                return Err(unusable("it refuses to start in this process".into()));
            }
            let engine = NonNull::new((calls.new)().cast_mut())
                .ok_or_else(|| unusable("it returned no engine".into()))?;
            for refuse in
                [calls.allow_forms, calls.allow_editor, calls.allow_shell, calls.allow_chdir]
            {
                refuse(engine.as_ptr(), 0);
            }
            for event in [STEP_SOLVED, NODES_CHANGED] {
                if (calls.register_event)(engine.as_ptr(), event, record_event) == 0 {
                    return Err(unusable("it does not support step callbacks".into()));
                }
            }
            Ok(Self { calls, engine })
        }
    }

    /// The engine's name and version, in its own words.
    pub(super) fn version(&mut self) -> String {
        // SAFETY: the engine is alive; its answer is valid until the next call.
        unsafe { copied((self.calls.version)(self.engine.as_ptr())) }
    }

    /// Runs a text command. Returns what it printed.
    pub(super) fn command(&mut self, text: &str) -> Answer<String> {
        let command =
            CString::new(text).map_err(|_| (0, "a command contains a NUL byte".into()))?;
        // SAFETY: the engine is alive and the text ends in zero; it copies what it keeps.
        unsafe { (self.calls.command)(self.engine.as_ptr(), command.as_ptr()) };
        self.check()?;
        // SAFETY: the engine is alive; its answer is valid until the next call.
        Ok(unsafe { copied((self.calls.result)(self.engine.as_ptr())) })
    }

    /// The engine's error, which reading resets.
    fn check(&mut self) -> Answer<()> {
        // SAFETY: the engine is alive; its words are valid until the next call.
        unsafe {
            match (self.calls.error_number)(self.engine.as_ptr()) {
                0 => Ok(()),
                number => Err((number, copied((self.calls.error_text)(self.engine.as_ptr())))),
            }
        }
    }

    /// Solves `count` steps of the present mode. Returns what became of each, and the engine's
    /// error: steps before it were solved.
    pub(super) fn solve(&mut self, count: i32) -> (SolveEvents, Answer<()>) {
        SOLVING.replace(Some((self.calls, SolveEvents::default())));
        // SAFETY: the engine is alive and has a circuit (it answers with an error if not).
        unsafe {
            (self.calls.set_number)(self.engine.as_ptr(), count);
            (self.calls.solve)(self.engine.as_ptr());
        }
        let events = SOLVING.take().map(|(_, events)| events).unwrap_or_default();
        (events, self.check())
    }

    /// Voltage between a node and ground, in V as a complex number; nodes count from 1 in the order
    /// of [`Self::nodes`].
    pub(super) fn voltage(&self, node: usize) -> (f64, f64) {
        let mut volts: *const f64 = std::ptr::null();
        // SAFETY: the engine is alive and was solved, so the vector holds a complex number for
        // ground and each node of `nodes`; it moves when the matrix is rebuilt, hence it is read again.
        unsafe {
            (self.calls.voltages)(self.engine.as_ptr(), &raw mut volts);
            if volts.is_null() {
                return (f64::NAN, f64::NAN);
            }
            (*volts.add(2 * node), *volts.add(2 * node + 1))
        }
    }

    /// Names of the nodes (`680.1`), in the order of the voltages.
    pub(super) fn nodes(&self) -> Vec<String> {
        self.texts(self.calls.nodes)
    }

    /// Names of all elements (`Generator.wind`).
    pub(super) fn elements(&self) -> Vec<String> {
        self.texts(self.calls.elements)
    }

    /// An element and the names of its properties; property 1 is the first.
    pub(super) fn element(&mut self, name: &str) -> Option<(Handle, Vec<String>)> {
        let name = CString::new(name).ok()?;
        // SAFETY: the engine is alive and the name ends in zero. The handle stays valid because
        // no command after start-up removes elements.
        let handle = unsafe {
            if (self.calls.activate)(self.engine.as_ptr(), name.as_ptr()) < 0 {
                return None;
            }
            NonNull::new((self.calls.active)(self.engine.as_ptr()))?
        };
        Some((Handle(handle), self.texts(self.calls.properties)))
    }

    pub(super) fn get(&mut self, element: Handle, property: i32) -> Answer<f64> {
        // SAFETY: the element belongs to this living engine.
        let value = unsafe { (self.calls.get_float)(element.0.as_ptr(), property) };
        self.check().map(|()| value)
    }

    /// A whole number or yes (other than 0) and no (0); -1 for a property of another kind.
    pub(super) fn get_whole(&mut self, element: Handle, property: i32) -> Answer<i32> {
        // SAFETY: the element belongs to this living engine.
        let value = unsafe { (self.calls.get_whole)(element.0.as_ptr(), property) };
        self.check().map(|()| value)
    }

    pub(super) fn get_word(&mut self, element: Handle, property: i32) -> Answer<String> {
        // SAFETY: the element belongs to this living engine; its answer is valid until the next
        // call.
        let word = unsafe { copied((self.calls.get_word)(element.0.as_ptr(), property)) };
        self.check().map(|()| word)
    }

    /// Sets a whole number, or yes (1) and no (0).
    pub(super) fn set_whole(&mut self, element: Handle, property: i32, value: i32) -> Answer<()> {
        // SAFETY: the element belongs to this living engine.
        unsafe { (self.calls.set_whole)(element.0.as_ptr(), property, value, 0) };
        self.check()
    }

    /// Sets a numeric property. `keep_matrix` for powers of loads and generators, which do not
    /// change the system matrix.
    pub(super) fn set(
        &mut self,
        element: Handle,
        property: i32,
        value: f64,
        keep_matrix: bool,
    ) -> Answer<()> {
        let flags = if keep_matrix { AVOID_FULL_RECALC } else { 0 };
        // SAFETY: the element belongs to this living engine.
        unsafe { (self.calls.set_float)(element.0.as_ptr(), property, value, flags) };
        self.check()
    }

    /// Node (1 to 3 for phases) of each conductor of an element, terminal after terminal.
    pub(super) fn nodes_of(&mut self, element: Handle) -> Vec<i32> {
        let (mut nodes, mut sizes) = (null_mut(), [0i32; 4]);
        // SAFETY: the element belongs to this living engine, which fills `nodes` with as many
        // numbers as it says and hands them over; they are copied and given back to be freed.
        unsafe {
            (self.calls.node_order)(&raw mut nodes, sizes.as_mut_ptr(), element.0.as_ptr());
            let copied = copied_numbers(nodes, sizes[0]);
            (self.calls.free_integers)(&raw mut nodes);
            copied
        }
    }

    /// Current into a conductor of an element, in A as a complex number; conductors count from 0
    /// in the order of [`Self::nodes_of`].
    pub(super) fn current(&mut self, element: Handle, conductor: usize) -> (f64, f64) {
        let (mut amperes, mut sizes) = (null_mut(), [0i32; 4]);
        // SAFETY: as for `nodes_of`; two numbers for each conductor.
        let parts = unsafe {
            (self.calls.currents)(&raw mut amperes, sizes.as_mut_ptr(), element.0.as_ptr());
            let copied = copied_numbers(amperes, sizes[0]);
            (self.calls.free_floats)(&raw mut amperes);
            copied
        };
        let part = |index: usize| parts.get(index).copied().unwrap_or(f64::NAN);
        (part(2 * conductor), part(2 * conductor + 1))
    }

    /// Whether all conductors of an element's first terminal are connected.
    pub(super) fn is_closed(&self, element: Handle) -> bool {
        // SAFETY: the element belongs to this living engine; terminal 1, all phases.
        unsafe { (self.calls.is_open)(element.0.as_ptr(), 1, 0) == 0 }
    }

    /// Connects an element's first terminal, or takes it off.
    pub(super) fn switch(&mut self, element: Handle, closed: bool) -> Answer<()> {
        let call = if closed { self.calls.close } else { self.calls.open };
        // SAFETY: as for `is_closed`.
        unsafe { call(element.0.as_ptr(), 1, 0) };
        self.check()
    }

    fn texts(&self, call: unsafe extern "C" fn(Engine, *mut Texts, *mut i32)) -> Vec<String> {
        let mut texts: Texts = null_mut();
        // Length, capacity, and the two dimensions of a matrix.
        let mut sizes = [0i32; 4];
        // SAFETY: the engine fills `texts` with as many strings as it says and hands them over;
        // they are copied and given back to be freed.
        unsafe {
            call(self.engine.as_ptr(), &raw mut texts, sizes.as_mut_ptr());
            let count = usize::try_from(sizes[0]).unwrap_or(0);
            let names = (0..count).map(|i| copied(*texts.add(i))).collect();
            (self.calls.free_texts)(&raw mut texts, sizes[1]);
            names
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let _one_at_a_time = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the engine is alive and used for the last time.
        unsafe { (self.calls.dispose)(self.engine.as_ptr()) };
    }
}

/// The file of the library: the one that [`crate::LIBRARY_VARIABLE`] names, else the first found in
/// `folders`, each of which may be a prefix (with `lib/python3*/site-packages`) or a
/// `site-packages` itself.
pub fn find(variable: Option<&Path>, folders: &[PathBuf]) -> Result<PathBuf, PlantError> {
    match variable {
        Some(file) if file.is_file() => return Ok(file.into()),
        Some(file) => return Err(PlantError::LibraryVariable { file: file.into() }),
        None => {}
    }
    folders
        .iter()
        .flat_map(|folder| sites(folder))
        .flat_map(|site| [site.join("dss_python_backend.libs"), site.join("dss_python_backend")])
        .find_map(|folder| entries(&folder).into_iter().find(|file| is_library(file)))
        .ok_or_else(|| PlantError::LibraryNotFound { searched: folders.to_vec() })
}

fn sites(folder: &Path) -> Vec<PathBuf> {
    let versions = entries(&folder.join("lib"));
    let pythons = versions.into_iter().filter(|path| name(path).starts_with("python3"));
    pythons.map(|python| python.join("site-packages")).chain([folder.to_path_buf()]).collect()
}

/// What a folder holds, sorted; nothing if it is not there.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = all.map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn is_library(file: &Path) -> bool {
    let name = name(file);
    (name == "libdss_capi.so" || name.starts_with("libdss_capi-")) && name.ends_with(".so")
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The numbers of an array of the engine.
///
/// # Safety
/// `numbers` must be null or point to `count` of them.
unsafe fn copied_numbers<T: Copy>(numbers: *const T, count: i32) -> Vec<T> {
    let count = usize::try_from(count).unwrap_or(0);
    if numbers.is_null() {
        return Vec::new();
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(numbers, count) }.to_vec()
}

/// A copy of a C string of the engine; empty if there is none.
///
/// # Safety
/// `text` is null or points to a string that ends in zero.
unsafe fn copied(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_wins_and_must_name_a_file() {
        let missing = find(Some(Path::new("/nowhere/libdss.so")), &[]).unwrap_err().to_string();
        for part in ["/nowhere/libdss.so", crate::LIBRARY_VARIABLE] {
            assert!(missing.contains(part), "{part} is not in: {missing}");
        }
        let this = std::env::current_exe().unwrap();
        assert_eq!(find(Some(&this), &[]).unwrap(), this);
    }

    #[test]
    fn the_release_build_is_found_below_a_prefix_and_in_site_packages() {
        let prefix = tempfile::tempdir().unwrap();
        let site = prefix.path().join("lib/python3.11/site-packages");
        let libs = site.join("dss_python_backend.libs");
        std::fs::create_dir_all(&libs).unwrap();
        for name in ["libdss_capid-0825.so", "libdss_capi-5280.so", "libklusolvex-39.so"] {
            std::fs::write(libs.join(name), "").unwrap();
        }
        let expected = libs.join("libdss_capi-5280.so");
        assert_eq!(find(None, &[prefix.path().into()]).unwrap(), expected);
        assert_eq!(find(None, &["/nowhere".into(), site]).unwrap(), expected);
    }

    #[test]
    fn a_missing_library_names_the_folders_and_the_fix() {
        let text = find(None, &["/opt/a".into(), "/opt/b".into()]).unwrap_err().to_string();
        for part in ["/opt/a", "/opt/b", "pip install dss_python_backend==0.14.5", "make setup"] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }

    #[test]
    fn a_file_that_is_no_library_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = Context::open(file.path()).unwrap_err().to_string();
        assert!(text.contains(&file.path().display().to_string()), "{text}");
    }
}
