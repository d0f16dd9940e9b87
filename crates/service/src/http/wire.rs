//! The connection below hyper: sends files where [`FileSpans`] says so.
//!
//! On a plain connection the kernel moves a file's bytes to the socket itself. With TLS they are
//! read, encrypted and written in one go, through one buffer per thread, and only once the socket
//! has room for them: a client that waits holds no bytes of ours.

use std::{
    cell::RefCell,
    fs::File,
    io::{self, IoSlice},
    os::unix::fs::FileExt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use muster_image::Source;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;

use super::{
    connections::Signals,
    file_spans::{FileSpans, Span, is_blank},
    stall::Stall,
    warm::{self, Warmer},
};

/// Most bytes handed to the kernel at once.
const MOST_AT_ONCE: u64 = 1 << 20;
/// Read and encrypted at once: whole TLS records, and few enough to wait for a slow client.
const BLOCK: usize = 16 << 10;
/// After this many bytes other connections get their turn.
const TURN: u64 = 2 << 20;

thread_local! {
    static PLAIN: RefCell<Vec<u8>> = RefCell::new(vec![0; BLOCK]);
}

/// A connection.
#[derive(Debug)]
pub struct Wire {
    socket: Socket,
    spans: FileSpans,
    warmer: Warmer,
    stall: Stall,
    signals: Arc<Signals>,
    this_turn: u64,
    /// The socket took less than it was offered, so it is most likely full.
    was_short: bool,
}

#[derive(Debug)]
enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    /// Without encryption; no write may wait for longer than `limit`.
    pub fn plain(stream: TcpStream, limit: Duration, signals: Arc<Signals>) -> Self {
        Self::new(Socket::Plain(stream), limit, signals)
    }

    /// With TLS.
    pub fn tls(stream: TlsStream<TcpStream>, limit: Duration, signals: Arc<Signals>) -> Self {
        Self::new(Socket::Tls(Box::new(stream)), limit, signals)
    }

    fn new(socket: Socket, limit: Duration, signals: Arc<Signals>) -> Self {
        Self {
            socket,
            spans: FileSpans::default(),
            warmer: Warmer::default(),
            stall: Stall::new(limit),
            signals,
            this_turn: 0,
            was_short: false,
        }
    }

    /// Where bodies on this connection put their files.
    pub fn spans(&self) -> FileSpans {
        self.spans.clone()
    }

    /// Whether both sides agreed on HTTP/2, which takes TLS.
    pub fn is_http2(&self) -> bool {
        match &self.socket {
            Socket::Plain(_) => false,
            Socket::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// Sends some of the next file in place of `most` blanks.
    fn poll_send(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<io::Result<usize>> {
        if self.this_turn >= TURN {
            self.this_turn = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut span = self.spans.next()?;
        span.len = span.len.min(most as u64).min(MOST_AT_ONCE);
        let sent = match &mut self.socket {
            Socket::Plain(stream) => {
                if self.was_short {
                    ready!(room(cx, stream))?;
                    self.was_short = false;
                }
                hand_over(cx, stream, &mut self.warmer, &mut span)
            }
            Socket::Tls(stream) => encrypt(cx, stream, &mut self.warmer, &span),
        };
        let count = ready!(sent)?;
        if count == 0 {
            tracing::error!("an OS image has become shorter; a download was aborted");
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        self.was_short = (count as u64) < span.len;
        self.this_turn += count as u64;
        self.spans.sent(count as u64);
        Poll::Ready(Ok(count))
    }
}

/// Ready once the socket takes a good deal at once.
///
/// Cheaper than an attempt to send that gets nowhere. The kernel says so when a third of the
/// socket's buffer is free, and looking arms its notice of that, which the runtime waits for.
fn room(cx: &mut Context<'_>, stream: &TcpStream) -> Poll<io::Result<()>> {
    loop {
        ready!(stream.poll_write_ready(cx))?;
        let looked = stream.try_io(Interest::WRITABLE, || {
            let mut sockets = [PollFd::new(stream, PollFlags::OUT)];
            let at_once = Timespec::default();
            match poll(&mut sockets, Some(&at_once)) {
                Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
                Ok(_) => Ok(()),
                Err(error) => Err(error.into()),
            }
        });
        match looked {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            looked => return Poll::Ready(looked),
        }
    }
}

fn hand_over(
    cx: &mut Context<'_>,
    stream: &TcpStream,
    warmer: &mut Warmer,
    span: &mut Span,
) -> Poll<io::Result<usize>> {
    let file = file(&span.source)?;
    loop {
        ready!(stream.poll_write_ready(cx))?;
        span.len = ready!(warmer.poll_run(cx, &span.source, file, span.offset, span.len))?;
        let sent = stream.try_io(Interest::WRITABLE, || {
            // It is at most MOST_AT_ONCE.
            send(stream, file, span.offset, span.len as usize)
        });
        match sent {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            sent => return Poll::Ready(sent),
        }
    }
}

#[cfg(target_os = "linux")]
fn send(stream: &TcpStream, file: &File, mut offset: u64, count: usize) -> io::Result<usize> {
    Ok(rustix::fs::sendfile(
        stream,
        file,
        Some(&mut offset),
        count,
    )?)
}

/// Kernels without a call for it get the bytes through a buffer.
#[cfg(not(target_os = "linux"))]
fn send(stream: &TcpStream, file: &File, offset: u64, count: usize) -> io::Result<usize> {
    PLAIN.with_borrow_mut(|block| {
        let count = FileExt::read_at(file, &mut block[..BLOCK.min(count)], offset)?;
        Ok(rustix::io::write(stream, &block[..count])?)
    })
}

fn encrypt(
    cx: &mut Context<'_>,
    stream: &mut TlsStream<TcpStream>,
    warmer: &mut Warmer,
    span: &Span,
) -> Poll<io::Result<usize>> {
    let file = file(&span.source)?;
    if stream.get_ref().1.wants_write() {
        ready!(Pin::new(&mut *stream).poll_flush(cx))?;
    }
    ready!(room(cx, stream.get_ref().0))?;
    PLAIN.with_borrow_mut(|block| {
        let most = BLOCK.min(span.len as usize);
        let block = &mut block[..most];
        let mut count = warm::read(file, block, span.offset)?;
        if count.is_none() {
            ready!(warmer.poll(cx, &span.source, file, span.offset))?;
            count = warm::read(file, block, span.offset)?;
        }
        let count = match count {
            Some(count) => count,
            // Memory is crowded: wait for the disk here rather than for ever.
            None => FileExt::read_at(file, block, span.offset)?,
        };
        if count == 0 {
            return Poll::Ready(Ok(0));
        }
        Pin::new(stream).poll_write(cx, &block[..count])
    })
}

fn file(source: &Source) -> io::Result<&File> {
    let missing = || io::Error::other("only files are sent past hyper");
    source.as_file().ok_or_else(missing)
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Socket::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.spans.check()?;
        self.signals.set_writing(true);
        let first = slices.iter().position(|slice| !slice.is_empty());
        let slices = &slices[first.unwrap_or(slices.len())..];
        let plain = slices.iter().take_while(|slice| !is_blank(slice)).count();
        let written = match (plain, slices.first()) {
            (0, Some(blanks)) => self.poll_send(cx, blanks.len()),
            (0, None) => Poll::Ready(Ok(0)),
            _ => match &mut self.socket {
                Socket::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, &slices[..plain]),
                Socket::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, &slices[..plain]),
            },
        };
        self.stall.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = match &mut self.socket {
            Socket::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        // hyper flushes once it has written all it has.
        if done.is_ready() {
            self.signals.set_writing(false);
        }
        self.stall.watch(cx, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = match &mut self.socket {
            Socket::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Socket::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        };
        self.stall.watch(cx, done)
    }
}
